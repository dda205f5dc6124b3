package proof

import (
	"github.com/jmoiron/sqlx"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// Sqlx opens a pool of sqlx.
func (s *Server) Sqlx() *sqlx.DB { return sqlx.NewDb(s.DB(), "pgx") }

// Bun opens a pool of bun.
func (s *Server) Bun() *bun.DB { return bun.NewDB(s.DB(), pgdialect.New()) }

// Dialector is what gorm.Open takes, on a pool of its own.
func (s *Server) Dialector() gorm.Dialector { return postgres.New(postgres.Config{Conn: s.DB()}) }

// Gorm opens a pool of gorm that logs nothing.
func (s *Server) Gorm() *gorm.DB {
	s.tb.Helper()
	db, err := gorm.Open(s.Dialector(), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		s.tb.Fatal(err)
	}
	return db
}

// Exec runs statements in the watching session, such as those that make the program's tables.
func (s *Server) Exec(text string) {
	s.tb.Helper()
	if _, err := s.watch.PgConn().Exec(s.tb.Context(), text).ReadAll(); err != nil {
		s.tb.Fatal(err)
	}
}
