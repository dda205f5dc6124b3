// Package libcheck holds the catalogue of client libraries against the libraries themselves: its
// test type-checks them and looks up every row. It is a module of its own, so that nobody who
// builds the linter downloads them. This file only names what the test loads.
package libcheck

import (
	_ "database/sql"
	_ "database/sql/driver"

	_ "entgo.io/ent/dialect"
	_ "entgo.io/ent/dialect/sql"
	_ "github.com/Masterminds/squirrel"
	_ "github.com/advisorylint/advisorylint/runtime/mysqllock"
	_ "github.com/advisorylint/advisorylint/runtime/pglock"
	_ "github.com/advisorylint/advisorylint/runtime/pgxlock"
	_ "github.com/doug-martin/goqu/v9"
	_ "github.com/doug-martin/goqu/v9/exec"
	_ "github.com/doug-martin/goqu/v9/exp"
	_ "github.com/go-pg/pg/v10"
	_ "github.com/go-pg/pg/v10/orm"
	_ "github.com/go-xorm/xorm"
	_ "github.com/jackc/pgconn"
	_ "github.com/jackc/pgx"
	_ "github.com/jackc/pgx/v4"
	_ "github.com/jackc/pgx/v4/pgxpool"
	_ "github.com/jackc/pgx/v4/stdlib"
	_ "github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/jinzhu/gorm"
	_ "github.com/jmoiron/sqlx"
	_ "github.com/uptrace/bun"
	_ "gorm.io/gorm"
	_ "gorm.io/gorm/clause"
	_ "xorm.io/xorm"
)
