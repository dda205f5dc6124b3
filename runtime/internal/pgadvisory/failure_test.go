package pgadvisory

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

type serverError string

func (e serverError) Error() string    { return "server says " + string(e) }
func (e serverError) SQLState() string { return string(e) }

func TestFailureNamesWhatTheServerSays(t *testing.T) {
	for _, c := range []struct {
		err  error
		is   error
		text string
	}{
		{serverError("55P03"), lock.ErrTimeout, ""},
		{serverError("57014"), lock.ErrTimeout, "statement_timeout"},
		{serverError("40P01"), lock.ErrDeadlock, ""},
		{serverError("53200"), lock.ErrLockTableFull, "max_locks_per_transaction"},
		{serverError("42P01"), errNoSchema, "Schema"},
		{serverError("42501"), serverError("42501"), ""},
		{io.ErrUnexpectedEOF, io.ErrUnexpectedEOF, ""},
	} {
		got := Failure(context.Background(), c.err)
		if !errors.Is(got, c.is) || !errors.Is(got, c.err) || !strings.Contains(got.Error(), c.text) {
			t.Errorf("Failure(%v) is %v", c.err, got)
		}
	}
	if err := Failure(context.Background(), nil); err != nil {
		t.Errorf("Failure(nil) is %v", err)
	}
}

func TestFailureOfAContextThatEndedIsItsCause(t *testing.T) {
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	for _, err := range []error{serverError("57014"), io.ErrUnexpectedEOF, cause} {
		got := Failure(ctx, err)
		if !errors.Is(got, cause) || !errors.Is(got, err) || errors.Is(got, lock.ErrTimeout) {
			t.Errorf("Failure(%v) is %v, want the cause with it and nothing else", err, got)
		}
	}
}

func TestSessionsEndWithSomeErrorsOnly(t *testing.T) {
	for err, want := range map[error]struct{ survived, ended bool }{
		serverError("57014"): {survived: true},
		serverError("55P03"): {survived: true},
		serverError("57P01"): {ended: true},
		serverError("57P05"): {ended: true},
		serverError("08006"): {},
		io.ErrUnexpectedEOF:  {},
	} {
		if survived(err) != want.survived || endedByServer(err) != want.ended {
			t.Errorf("%v: survived %v, ended by the server %v; want %+v", err, survived(err), endedByServer(err), want)
		}
	}
}
