package lockkey

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/adler32"
	"hash/crc32"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// collide looks for two customers whose names have one hash. Among 300,000 names some ten pairs have
// one 32-bit hash; the names are always the same, so that the search always ends in the same way.
func collide(t *testing.T, hash func(string) uint32) (a, b string) {
	t.Helper()
	seen := map[uint32]string{}
	for n := range 300_000 {
		// The factor spreads the digits: names that differ in a few only never have one CRC.
		name := fmt.Sprintf("customer %d", uint64(n)*0x9E3779B97F4A7C15)
		h := hash(name)
		if other, ok := seen[h]; ok {
			return other, name
		}
		seen[h] = name
	}
	t.Fatal("no two names have one hash")
	return "", ""
}

// collideHashtext is collide for the server's hashtext.
func collideHashtext(t *testing.T, s *proof.Server) (a, b string) {
	t.Helper()
	const q = `SELECT min(name), max(name)
		FROM (SELECT 'customer ' || n AS name FROM generate_series(1, 300000) AS n) AS names
		GROUP BY hashtext(name) HAVING count(*) > 1 ORDER BY 1 LIMIT 1`
	if err := s.Session().QueryRow(t.Context(), q).Scan(&a, &b); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// sumFNV gives the sum of a 32-bit FNV, in one of its two orders.
func sumFNV(a bool) func(string) uint32 {
	return func(name string) uint32 {
		h := fnv.New32()
		if a {
			h = fnv.New32a()
		}
		h.Write([]byte(name))
		return h.Sum32()
	}
}

func checksum(of func([]byte) uint32) func(string) uint32 {
	return func(name string) uint32 { return of([]byte(name)) }
}

type byName func(context.Context, *sql.Tx, string) (bool, error)

// both opens a transaction for each of two customers and locks the one after the other.
func both[C any](t *testing.T, s *proof.Server, lock func(context.Context, *sql.Tx, C) (bool, error), a, b C) (first, second bool) {
	t.Helper()
	db := s.DB()
	var got [2]bool
	for i, customer := range []C{a, b} {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Rollback() // as both ends: the first customer is held while the second is tried
		if got[i], err = lock(t.Context(), tx, customer); err != nil {
			t.Fatal(err)
		}
	}
	return got[0], got[1]
}

func TestTwoNamesAreOneLock(t *testing.T) {
	s := proof.Postgres(t)
	for name, c := range map[string]struct {
		lock byName
		pair func(*testing.T) (a, b string)
	}{
		"ByHashtext": {ByHashtext, func(t *testing.T) (string, string) { return collideHashtext(t, s) }},
		"ByChecksum": {ByChecksum, func(t *testing.T) (string, string) { return collide(t, checksum(crc32.ChecksumIEEE)) }},
		"ByFold":     {ByFold, func(t *testing.T) (string, string) { return collide(t, sumFNV(true)) }},
		"ByHelper":   {ByHelper, func(t *testing.T) (string, string) { return collide(t, sumFNV(false)) }},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := c.pair(t)
			if first, second := both(t, s, c.lock, a, b); !first || second {
				t.Errorf("%q: %v, then %q: %v; want the second customer refused", a, first, b, second)
			}
			for good, lock := range map[string]byName{"ByHashtextExtended": ByHashtextExtended, "ByFold64": ByFold64} {
				if first, second := both(t, s, lock, a, b); !first || !second {
					t.Errorf("%s: %q: %v, then %q: %v; want both", good, a, first, b, second)
				}
			}
			if first, second := both(t, s, ByHashtextExtended, a, a); !first || second {
				t.Errorf("ByHashtextExtended, one customer twice: %v, %v; want the second refused", first, second)
			}
		})
	}
}

func TestTwoNamesAreOneLockWithPgx(t *testing.T) {
	s := proof.Postgres(t)
	a, b := collide(t, checksum(adler32.Checksum))
	for name, c := range map[string]struct {
		lock   func(context.Context, pgx.Tx, string) (bool, error)
		second bool
	}{
		"ByAdler":  {ByAdler, false},
		"ByDigest": {ByDigest, true},
	} {
		t.Run(name, func(t *testing.T) {
			var got [2]bool
			for i, customer := range []string{a, b} {
				tx, err := s.Session().Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer tx.Rollback(context.Background())
				if got[i], err = c.lock(t.Context(), tx, customer); err != nil {
					t.Fatal(err)
				}
			}
			if want := [2]bool{true, c.second}; got != want {
				t.Errorf("%q, then %q: %v, want %v", a, b, got, want)
			}
		})
	}
}

func TestTwoNumbersAreOneLock(t *testing.T) {
	s := proof.Postgres(t)
	const a, b = 52, 52 + 1<<32
	if first, second := both(t, s, ByNumber, int64(a), int64(b)); !first || second {
		t.Errorf("ByNumber %d: %v, then %d: %v; want the second refused", a, first, b, second)
	}
	if first, second := both(t, s, ByWholeNumber, int64(a), int64(b)); !first || !second {
		t.Errorf("ByWholeNumber %d: %v, then %d: %v; want both", a, first, b, second)
	}
}

// MariaDB takes more than MySQL's 64 characters, up to 192, and all of them count.
func TestLongNamesOnMariaDB(t *testing.T) {
	s := proof.MariaDB(t)
	if len(yearEnd) <= 64 {
		t.Fatalf("the name has %d characters, want more than 64", len(yearEnd))
	}
	if mine, err := ByName(t.Context(), s.Session()); err != nil || !mine.Bool || !s.Holder(yearEnd).Valid {
		t.Errorf("ByName: %v, %v, want the lock", mine, err)
	}
	if cut := yearEnd[:64]; s.Holder(cut).Valid {
		t.Errorf("the lock on %q holds %q too", yearEnd, cut)
	}
	for _, customer := range []string{"north", "south"} {
		if mine, err := ByLongPrefix(t.Context(), s.Session(), customer); err != nil || !mine.Bool {
			t.Errorf("ByLongPrefix %s: %v, %v, want the lock", customer, mine, err)
		}
	}
	long := strings.Repeat("x", 193)
	_, err := ByLongPrefix(t.Context(), s.Session(), long)
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) || refused.Number != 1059 {
		t.Errorf("ByLongPrefix with %d characters more: %v, want error 1059", len(long), err)
	}
	if mine, err := ByHashedName(t.Context(), s.Session(), long); err != nil || !mine.Bool {
		t.Errorf("ByHashedName: %v, %v, want the lock", mine, err)
	}
	if mine, err := ByShortName(t.Context(), s.Session()); err != nil || !mine.Bool {
		t.Errorf("ByShortName: %v, %v, want the lock", mine, err)
	}
}
