package mysqllock_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/mysqllock"
)

func TestSchemaIsOneStatementThatCanBeRepeated(t *testing.T) {
	s := newServer(t)
	s.exec(mysqllock.Schema)
	s.exec(mysqllock.Schema)
}

func TestWithoutTheTableTheErrorSaysSoAndNothingIsHeld(t *testing.T) {
	s := newServer(t)
	db := s.pool(t, nil)
	l := s.locker(db, mysqllock.Fencing())
	_, err := l.Acquire(patient(t), key(t))
	var code *mysql.MySQLError
	if err == nil || !strings.Contains(err.Error(), "mysqllock.Schema") || !errors.As(err, &code) || code.Number != 1146 {
		t.Errorf("acquire: %v, want 1146 and where the table is from", err)
	}
	if _, err := l.RunOnce(patient(t), key(t), time.Hour, func(context.Context) error { return nil }); err == nil {
		t.Error("RunOnce without its table is no error")
	}
	s.wantNothing(key(t).Name64())
	if n := db.Stats().InUse; n != 0 {
		t.Errorf("%d connections in use", n)
	}
}

func TestTokensGrowWhateverTheConnectionsAreLike(t *testing.T) {
	s := newServer(t)
	s.exec(mysqllock.Schema)
	upper, lower := lock.LiteralKey(strings.ToUpper(t.Name())), lock.LiteralKey(strings.ToLower(t.Name()))
	dsn := s.dsn
	last := int64(0)
	for _, parameters := range []string{"", "?autocommit=0", "?clientFoundRows=true", "?interpolateParams=true&sql_mode=ANSI"} {
		s.dsn = dsn + parameters
		db := s.pool(t, nil)
		for range 3 {
			for _, k := range []lock.Key{upper, lower} { // one lock on MySQL
				err := s.locker(db, mysqllock.Fencing()).Do(patient(t), k, func(ctx context.Context) error {
					token, ok := lock.Token(ctx)
					if !ok || token <= last {
						t.Errorf("%q: token %d after %d", parameters, token, last)
					}
					last = token
					return nil
				})
				if err != nil {
					t.Errorf("%q: %v", parameters, err)
				}
			}
		}
		db.Close() // which rolls back what was not committed
	}
	if last != 24 {
		t.Errorf("24 holders, the last token is %d", last)
	}
}

func TestOneOfManyReplicasRuns(t *testing.T) {
	s := newServer(t)
	s.exec(mysqllock.Schema)
	dsn := s.dsn
	for _, parameters := range []string{"", "?autocommit=0", "?clientFoundRows=true"} {
		s.dsn = dsn + parameters
		job := key(t, parameters)
		var runs, ran atomic.Int64
		var wg sync.WaitGroup
		for range 8 {
			l := s.locker(s.pool(t, nil), mysqllock.Fencing())
			wg.Go(func() {
				for range 3 {
					did, err := l.RunOnce(patient(t), job, time.Hour, func(context.Context) error { runs.Add(1); return nil })
					if err != nil {
						t.Error(err)
					}
					if did {
						ran.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if runs.Load() != 1 || ran.Load() != 1 {
			t.Errorf("%q: %d runs, %d were told so; want 1", parameters, runs.Load(), ran.Load())
		}
	}
}

func TestJobRunsAgainWhenItsTimeHasCome(t *testing.T) {
	s := newServer(t)
	s.exec(mysqllock.Schema)
	l := s.locker(s.pool(t, nil))
	run := func(every time.Duration) bool {
		t.Helper()
		ran, err := l.RunOnce(patient(t), key(t), every, func(context.Context) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return ran
	}
	if !run(time.Hour) {
		t.Error("the first did not run")
	}
	if run(time.Hour) {
		t.Error("ran again at once")
	}
	s.exec("UPDATE advisorylint_locks SET claimed = claimed - INTERVAL 59 MINUTE")
	if run(time.Hour) {
		t.Error("ran again after 59 minutes")
	}
	if !run(58 * time.Minute) {
		t.Error("did not run after more than 58 minutes")
	}
}
