package acquireresult

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// payment is one function of bad.go or good.go, bound to its handle.
type payment func(ctx context.Context, invoice int64, pay Pay) error

func on[H any](handle H, f func(context.Context, H, int64, Pay) error) payment {
	return func(ctx context.Context, invoice int64, pay Pay) error { return f(ctx, handle, invoice, pay) }
}

func pin(t *testing.T, db *sql.DB) *sql.Conn {
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func openGorm(t *testing.T, db *sql.DB) *gorm.DB {
	gdb, err := gorm.Open(postgres.New(postgres.Config{Conn: db}), &gorm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return gdb
}

// count is a payment that notes how often it is made.
func count(paid *int) Pay {
	return func(context.Context) error { *paid++; return nil }
}

func TestBadPaysWithoutTheLock(t *testing.T) {
	s := proof.Postgres(t)
	for name, run := range map[string]payment{
		"error only":     on[*sql.Conn](pin(t, s.DB()), ErrorOnly),
		"row count":      on[*pgxpool.Pool](s.Pool(2), RowCount),
		"next row":       on[*sql.Conn](pin(t, s.DB()), NextRow),
		"in transaction": on[*pgx.Conn](s.Session(), InTransaction),
		"gorm":           on[*gorm.DB](openGorm(t, s.DB()), GormRowCount),
		"dropped answer": on[*sql.Conn](pin(t, s.DB()), DroppedAnswer),
	} {
		t.Run(name, func(t *testing.T) {
			invoice, paid := s.NewKey(), 0
			defer s.Hold(invoice)() // by an instance that is paying it
			err := run(t.Context(), invoice, count(&paid))
			if paid != 1 || errors.Is(err, errBusy) {
				t.Fatalf("paid %d times, %v; want once beside the holder", paid, err)
			}
		})
	}
}

func TestGoodLeavesATakenInvoiceAlone(t *testing.T) {
	s := proof.Postgres(t)
	for name, run := range map[string]payment{
		"scanned":        on[*sql.Conn](pin(t, s.DB()), Scanned),
		"row present":    on[*pgxpool.Pool](s.Pool(2), RowPresent),
		"next row":       on[*sql.Conn](pin(t, s.DB()), NextRowScanned),
		"in transaction": on[*pgx.Conn](s.Session(), InTransactionScanned),
		"waiting":        on[*pgx.Conn](s.Session(), Waiting),
		"gorm":           on[*gorm.DB](openGorm(t, s.DB()), GormScanned),
		"kept answer":    on[*sql.Conn](pin(t, s.DB()), KeptAnswer),
	} {
		t.Run(name, func(t *testing.T) {
			invoice, paid := s.NewKey(), 0
			end := s.Hold(invoice)
			if err := run(t.Context(), invoice, count(&paid)); paid != 0 || !errors.Is(err, errBusy) {
				t.Fatalf("paid %d times, %v; want none and %v", paid, err, errBusy)
			}
			end()
			if err := run(t.Context(), invoice, count(&paid)); paid != 1 || err != nil {
				t.Fatalf("paid %d times, %v; want once", paid, err)
			}
			s.WantFree(proof.Key(invoice))
		})
	}
}

func TestMySQL(t *testing.T) {
	s := proof.MariaDB(t)
	const name = "acquireresult"
	s.Hold(name)
	for reading, f := range map[string]func(context.Context, *sql.Conn, string, Pay) error{
		"error only": MySQLErrorOnly, "not NULL": MySQLNotNull,
	} {
		paid := 0
		if err := f(t.Context(), s.Session(), name, count(&paid)); paid != 1 || errors.Is(err, errBusy) {
			t.Fatalf("%s: paid %d times, %v; want once beside the holder", reading, paid, err)
		}
	}
	paid := 0
	if err := MySQLOne(t.Context(), s.Session(), name, count(&paid)); paid != 0 || !errors.Is(err, errBusy) {
		t.Fatalf("paid %d times, %v; want none and %v", paid, err, errBusy)
	}
	if err := MySQLOne(t.Context(), s.Session(), name+".free", count(&paid)); paid != 1 || err != nil {
		t.Fatalf("paid %d times, %v; want once", paid, err)
	}
	s.WantFree(name + ".free")
}
