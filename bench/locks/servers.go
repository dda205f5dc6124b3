package main

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
)

// servers are the private servers of this command, one of each system in use.
type servers struct {
	at      map[system]address
	version map[system]string
}

// startServers starts what the systems need. A server that cannot start ends the command.
func startServers(ctx context.Context, tb testing.TB, systems []system) (*servers, error) {
	s := &servers{at: map[system]address{}, version: map[system]string{}}
	for _, sys := range systems {
		var err error
		switch sys {
		case postgresql:
			s.at[sys] = address(testserver.Postgres(tb))
			s.version[sys], err = sqlVersion(ctx, "pgx", s.at[sys], "SHOW server_version")
		case mariadb:
			s.at[sys] = address(testserver.MariaDB(tb))
			s.version[sys], err = sqlVersion(ctx, "mysql", s.at[sys], "SELECT VERSION()")
		case redisdb:
			s.at[sys] = address(testserver.Redis(tb))
			s.version[sys], err = redisVersion(ctx, s.at[sys])
		}
		if err != nil {
			return nil, fmt.Errorf("version of %s: %w", sys, err)
		}
	}
	return s, nil
}

func sqlVersion(ctx context.Context, driver string, at address, query string) (version string, err error) {
	db, err := sql.Open(driver, string(at))
	if err != nil {
		return "", err
	}
	defer db.Close()
	err = db.QueryRowContext(ctx, query).Scan(&version)
	version = strings.FieldsFunc(version+" ", func(r rune) bool { return r == ' ' || r == '-' })[0] // without the packager's words
	return version, err
}

func redisVersion(ctx context.Context, at address) (string, error) {
	rdb := redis.NewClient(&redis.Options{Addr: string(at)})
	defer rdb.Close()
	info, err := rdb.InfoMap(ctx, "server").Result()
	if err != nil {
		return "", err
	}
	return info["Server"]["redis_version"], nil
}

// hostPort is where a client connects to.
func hostPort(sys system, at address) (string, error) {
	switch sys {
	case postgresql:
		u, err := url.Parse(string(at))
		if err != nil {
			return "", err
		}
		return u.Host, nil
	case mariadb:
		c, err := mysql.ParseDSN(string(at))
		if err != nil {
			return "", err
		}
		return c.Addr, nil
	default:
		_, _, err := net.SplitHostPort(string(at))
		return string(at), err
	}
}

// counted is the address of a server behind a relay, with the relay.
func counted(sys system, at address) (*relay, address, error) {
	target, err := hostPort(sys, at)
	if err != nil {
		return nil, "", err
	}
	r, err := newRelay(target, protocols[sys])
	if err != nil {
		return nil, "", err
	}
	return r, address(strings.Replace(string(at), target, r.listener.Addr().String(), 1)), nil
}

// settle waits until the server has let go of the sessions of closed connections, which it does after
// the client has forgotten them: otherwise the next ones may find no room.
func settle(ctx context.Context, sys system, at address) error {
	if sys != postgresql {
		return nil
	}
	db, err := sql.Open("pgx", string(at))
	if err != nil {
		return err
	}
	defer db.Close()
	deadline := time.Now().Add(10 * time.Second)
	for {
		var others int
		err := db.QueryRowContext(ctx, `SELECT count(*) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`).Scan(&others)
		switch {
		case err != nil:
			return err
		case others == 0:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("%d sessions are still there", others)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// command is the testing.TB of a program: package testserver wants one, for what is to be done at the
// end and for telling that a server cannot start.
type command struct {
	testing.TB // nil: a method that is not defined here panics
	cleanups   []func()
}

func (c *command) Helper()           {}
func (c *command) Name() string      { return "locks" }
func (c *command) Cleanup(do func()) { c.cleanups = append(c.cleanups, do) }

func (c *command) Errorf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// Fatalf ends the program. The servers that run are stopped by testserver's watchdog.
func (c *command) Fatalf(format string, args ...any) {
	c.Errorf(format, args...)
	os.Exit(1)
}

// end does what was to be done at the end, the last first.
func (c *command) end() {
	for _, do := range slices.Backward(c.cleanups) {
		do()
	}
	c.cleanups = nil
}
