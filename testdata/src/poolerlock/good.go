package poolerlock

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// LeadTx goes through PgBouncer too, with a transaction-level lock: PgBouncer leaves a client its
// server session until the transaction ends, and so does the lock.
func LeadTx(ctx context.Context, tunnel Tunnel, database string, work func(context.Context) error) (led bool, err error) {
	config, err := pgx.ParseConfig(pooled)
	if err != nil {
		return false, err
	}
	tunnel.through(config, database)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, leader).Scan(&led); err != nil || !led {
			return err
		}
		return work(ctx)
	})
	return led, err
}

// direct is where the server itself listens.
const direct = "postgres://postgres@postgres.internal:5432/?sslmode=disable"

// LeadDirect has a session of its own with the server, for the lock alone.
func LeadDirect(ctx context.Context, tunnel Tunnel, database string, work func(context.Context) error) (led bool, err error) {
	config, err := pgx.ParseConfig(direct)
	if err != nil {
		return false, err
	}
	tunnel.through(config, database)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, leader).Scan(&led); err != nil || !led {
		return false, err
	}
	err = work(ctx)
	return true, errors.Join(err, resign(ctx, conn))
}
