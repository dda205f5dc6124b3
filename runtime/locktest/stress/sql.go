package stress

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"time"
)

// dialect is the statements of one kind of SQL server. The clock is in microseconds since 1970, and is
// read while a statement runs, not when its transaction began.
type dialect struct {
	prepare, enter, leave, visits string
	returning                     bool // enter gives the visit as a row
}

var postgresql = dialect{
	prepare: `create table %[1]s (id bigserial primary key, process bigint not null, token bigint not null, entered bigint not null, left_at bigint)`,
	enter: `insert into %[1]s (process, token, entered)
		values ($1, $2, (extract(epoch from clock_timestamp()) * 1000000)::bigint) returning id`,
	leave:     `update %[1]s set left_at = (extract(epoch from clock_timestamp()) * 1000000)::bigint where id = $1`,
	visits:    `select id, process, token, entered, left_at from %[1]s`,
	returning: true,
}

var mysql = dialect{
	prepare: `create table %[1]s (id bigint primary key auto_increment, process bigint not null, token bigint not null, entered bigint not null, left_at bigint) engine=innodb`,
	enter:   `insert into %[1]s (process, token, entered) values (?, ?, cast(unix_timestamp(sysdate(6)) * 1000000 as signed))`,
	leave:   `update %[1]s set left_at = cast(unix_timestamp(sysdate(6)) * 1000000 as signed) where id = ?`,
	visits:  `select id, process, token, entered, left_at from %[1]s`,
}

// PostgreSQL is a section recorded in a table of this name.
func PostgreSQL(db *sql.DB, table string) Section { return sqlSection{db, table, postgresql} }

// MySQL is a section recorded in a table of this name, of MySQL or MariaDB.
func MySQL(db *sql.DB, table string) Section { return sqlSection{db, table, mysql} }

type sqlSection struct {
	db    *sql.DB
	table string
	dialect
}

func (s sqlSection) text(statement string) string { return fmt.Sprintf(statement, s.table) }

func (s sqlSection) Prepare(ctx context.Context) error {
	if _, err := s.db.ExecContext(ctx, s.text(s.prepare)); err != nil {
		return fmt.Errorf("prepare section %s: %w", s.table, err)
	}
	return nil
}

func (s sqlSection) Enter(ctx context.Context, token int64) (visit int64, err error) {
	if s.returning {
		err = s.db.QueryRowContext(ctx, s.text(s.enter), os.Getpid(), token).Scan(&visit)
	} else {
		var result sql.Result
		if result, err = s.db.ExecContext(ctx, s.text(s.enter), os.Getpid(), token); err == nil {
			visit, err = result.LastInsertId()
		}
	}
	if err != nil {
		return 0, fmt.Errorf("enter section %s: %w", s.table, err)
	}
	return visit, nil
}

func (s sqlSection) Leave(ctx context.Context, visit int64) error {
	if _, err := s.db.ExecContext(ctx, s.text(s.leave), visit); err != nil {
		return fmt.Errorf("leave section %s: %w", s.table, err)
	}
	return nil
}

func (s sqlSection) Visits(ctx context.Context) (visits []Visit, err error) {
	rows, err := s.db.QueryContext(ctx, s.text(s.visits))
	if err != nil {
		return nil, fmt.Errorf("visits of section %s: %w", s.table, err)
	}
	defer rows.Close()
	for rows.Next() {
		var v Visit
		var entered int64
		var left sql.NullInt64
		if err := rows.Scan(&v.ID, &v.Process, &v.Token, &entered, &left); err != nil {
			return nil, fmt.Errorf("visits of section %s: %w", s.table, err)
		}
		v.Entered = time.UnixMicro(entered)
		if left.Valid {
			v.Left = time.UnixMicro(left.Int64)
		}
		visits = append(visits, v)
	}
	return visits, rows.Err()
}
