package client

import "testing"

// The names that users write have the forms in which types and functions are looked up.
func TestFullName(t *testing.T) {
	for name, want := range map[string]string{
		"example.com/store.DB":           "example.com/store.DB",
		"example.com/store/v2.DB":        "example.com/store.DB",
		"example.com/store/v2/sub.DB":    "example.com/store/sub.DB",
		"gopkg.in/store.v2.DB":           "gopkg.in/store.DB",
		"gopkg.in/store.v2.DB.Run":       "gopkg.in/store.DB.Run",
		"example.com/store.DB.Run":       "example.com/store.DB.Run",
		"example.com/store.v2.Run":       "example.com/store.v2.Run",
		"store.DB":                       "store.DB",
		"github.com/jackc/pgconn.Config": "github.com/jackc/pgx/pgconn.Config",
	} {
		if got := fullName(name); got != want {
			t.Errorf("%s is looked up as %s, want %s", name, got, want)
		}
	}
}
