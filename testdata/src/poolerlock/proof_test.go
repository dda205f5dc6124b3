package poolerlock

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

type program func(ctx context.Context, tunnel Tunnel, database string, work func(context.Context) error) (bool, error)

// network is the private network of the programs: PgBouncer and the server behind it.
type network struct {
	*proof.Server
	tunnel   Tunnel
	database string
}

func newNetwork(t *testing.T) network {
	t.Helper()
	s, direct := proof.Pooler(t, "transaction")
	pooler, err := url.Parse(s.DSN)
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	hosts := map[string]string{"pgbouncer.internal:6432": pooler.Host, "postgres.internal:5432": server.Host}
	tunnel := func(ctx context.Context, network, address string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, hosts[address])
	}
	return network{s, tunnel, strings.TrimPrefix(pooler.Path, "/")}
}

// run elects an instance with p, and does work if it leads.
func (n network) run(t *testing.T, p program, work func(context.Context) error) (bool, error) {
	return p(t.Context(), n.tunnel, n.database, work)
}

func TestTwoClientsHoldTheLock(t *testing.T) {
	for name, p := range map[string]program{"Lead": Lead, "LeadSQL": LeadSQL} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			both := false
			// PgBouncer has one server session and gives it to whoever asks: to that session the
			// second client's lock is its own, taken twice.
			led, err := n.run(t, p, func(context.Context) error {
				second, err := n.run(t, p, func(context.Context) error { both = true; return nil })
				if !second || err != nil {
					t.Errorf("second instance: led %v, %v", second, err)
				}
				return nil
			})
			if !led || !both || err != nil {
				t.Errorf("led %v, both at once %v, %v; want two leaders", led, both, err)
			}
		})
	}
}

func TestUnlockMissesTheSession(t *testing.T) {
	for name, p := range map[string]program{"Lead": Lead, "LeadSQL": LeadSQL} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			other := n.Session() // any client of PgBouncer
			led, err := n.run(t, p, func(ctx context.Context) error {
				// It opens a transaction, and so gets the session that has the lock until it ends.
				_, err := other.Exec(ctx, `BEGIN`)
				return err
			})
			if !led || !errors.Is(err, ErrNotHeld) {
				t.Errorf("led %v, %v; want the unlock to answer false", led, err)
			}
			if _, err := other.Exec(t.Context(), `COMMIT`); err != nil {
				t.Error(err)
			}
			// The instance and its connections are gone. The lock is not.
			n.WantLeaked(proof.Key(leader))
		})
	}
}

func TestTransactionKeepsItsSession(t *testing.T) {
	for name, p := range map[string]program{"LeadTx": LeadTx, "LeadDirect": LeadDirect} {
		t.Run(name, func(t *testing.T) {
			n := newNetwork(t)
			other := n.Session()
			led, err := n.run(t, p, func(ctx context.Context) error {
				second, err := n.run(t, p, func(context.Context) error { t.Error("there are two leaders"); return nil })
				if second || err != nil {
					t.Errorf("second instance: led %v, %v; want it refused", second, err)
				}
				return pgx.BeginFunc(ctx, other, func(pgx.Tx) error { return nil })
			})
			if !led || err != nil {
				t.Errorf("led %v, %v; want true", led, err)
			}
			n.WantFree(proof.Key(leader))
		})
	}
}
