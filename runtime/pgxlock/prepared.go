package pgxlock

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/advisorylint/advisorylint/runtime/internal/pgadvisory"
)

// prepared reports whether statements may be prepared and kept as pgx does by default, and nobody wants to be
// told of each. Then they take a way through pgx that does without what a row of any type needs: it takes a
// tenth of the time of a round trip to a near server.
func prepared(config *pgx.ConnConfig) bool {
	return config.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement && config.StatementCacheCapacity > 0 && config.Tracer == nil
}

// runPrepared runs a statement that is prepared when it first runs on the connection. One that the server
// has forgotten, as after DISCARD ALL, fails from then on, and the connection with it.
func (s *session) runPrepared(ctx context.Context, sql string, args, dest []any) error {
	statement, err := s.conn.Prepare(ctx, sql, sql) // no round trip when it is known
	if err != nil {
		return err
	}
	values := make([][]byte, len(args))
	for i, arg := range args {
		values[i] = encode(arg)
	}
	result := s.conn.PgConn().ExecStatement(ctx, statement, values, nil, nil)
	found := result.NextRow()
	if found {
		err = decode(result.Values(), dest)
	}
	if _, failed := result.Close(); failed != nil {
		return failed
	}
	if !found {
		return pgadvisory.ErrNoRow
	}
	return err
}

// encode is an argument in the text format.
func encode(arg any) []byte {
	if n, ok := arg.(int64); ok {
		return strconv.AppendInt(nil, n, 10)
	}
	return []byte(arg.(string))
}

// decode takes a row in the text format apart.
func decode(row [][]byte, dest []any) (err error) {
	if len(row) != len(dest) {
		return fmt.Errorf("%d columns for %d values", len(row), len(dest))
	}
	for i, value := range row {
		switch d := dest[i].(type) {
		case *int64:
			*d, err = strconv.ParseInt(string(value), 10, 64)
		case *bool:
			*d, err = strconv.ParseBool(string(value))
		case *string:
			*d = string(value)
		default:
			err = fmt.Errorf("no way to read a %T", d)
		}
		if err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}
