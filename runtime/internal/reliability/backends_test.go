package reliability_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
	"github.com/advisorylint/advisorylint/runtime/locktest/stress"
	"github.com/advisorylint/advisorylint/runtime/mysqllock"
	"github.com/advisorylint/advisorylint/runtime/pglock"
	"github.com/advisorylint/advisorylint/runtime/pgxlock"
	"github.com/advisorylint/advisorylint/runtime/redislock"
)

// times are the options of lockers.
type times struct {
	heartbeat time.Duration
	timeout   time.Duration // of the heartbeat's answer
	poll      time.Duration // in place of the heartbeat
	ttl       time.Duration
}

// quick is for what is to be lost: as short as a loaded machine allows. Calm is for what must not be lost
// when the machine stalls.
var (
	quick = times{200 * time.Millisecond, 500 * time.Millisecond, 50 * time.Millisecond, time.Second}
	calm  = times{5 * time.Second, 20 * time.Second, 5 * time.Second, 20 * time.Second}
)

// release bounds a release that has no answer to hope for.
const release = 300 * time.Millisecond

// A kind is a kind of server.
type kind struct {
	// shared starts a server, or gives a database in one that other tests use too; own starts one that
	// the test may kill.
	shared func(testing.TB) string
	own    func(testing.TB) *testserver.Server

	schema  string // what fencing needs
	driver  string // for an administrator; "" for Redis
	section func(source string) (stress.Section, func() error, error)
	store   store
}

var (
	postgresql = &kind{
		shared: testserver.Postgres, own: func(tb testing.TB) *testserver.Server { return testserver.PostgresServer(tb) },
		schema: pglock.Schema, driver: "pgx", section: sqlSection("pgx", stress.PostgreSQL),
		store: sqlStore{driver: "pgx", write: "update store set token = $1 where token <= $1"},
	}
	mariadb = &kind{
		shared: testserver.MariaDB, own: testserver.MariaDBServer,
		schema: mysqllock.Schema, driver: "mysql", section: sqlSection("mysql", stress.MySQL),
		store: sqlStore{driver: "mysql", write: "update store set token = ? where token <= ?", twice: true},
	}
	redisServer = &kind{
		shared:  func(tb testing.TB) string { return testserver.RedisServer(tb).URL() },
		own:     func(tb testing.TB) *testserver.Server { return testserver.RedisServer(tb) },
		section: redisSection, store: redisStore{},
	}
)

// A backend is one way to take locks.
type backend struct {
	name string
	kind *kind

	// open makes a Locker on the server at source, in this process or another. End closes what the Locker
	// was made of.
	open func(source string, t times) (l *lock.Locker, end func() error, err error)

	ended  time.Duration // within which the end of the connection is heard of
	silent time.Duration // and a network that is silent
	grace  time.Duration // that the driver is given, beyond a bound, to give up a statement
	lease  bool          // the lock is not the connection's, and outlives it
}

var backends = []backend{
	{name: "pgxlock", kind: postgresql, open: openPgx, ended: quick.heartbeat, silent: quick.heartbeat + quick.timeout},
	{name: "pglock with pgx", kind: postgresql, open: openPG("pgx"), ended: quick.heartbeat, silent: quick.heartbeat + quick.timeout, grace: 250 * time.Millisecond},
	{name: "pglock with lib pq", kind: postgresql, open: openPG("postgres"), ended: quick.heartbeat, silent: quick.poll + quick.timeout, grace: 250 * time.Millisecond},
	{name: "mysqllock", kind: mariadb, open: openMySQL, ended: 2 * quick.heartbeat, silent: max(4*quick.heartbeat, time.Second) + quick.heartbeat},
	{name: "redislock", kind: redisServer, open: openRedis, ended: quick.ttl, silent: quick.ttl, lease: true},
}

func openPgx(source string, t times) (*lock.Locker, func() error, error) {
	config, err := pgxpool.ParseConfig(source)
	if err != nil {
		return nil, nil, err
	}
	l, err := pgxlock.New(context.Background(), config, pgxlock.Fencing(),
		pgxlock.Heartbeat(t.heartbeat), pgxlock.HeartbeatTimeout(t.timeout))
	if err != nil {
		return nil, nil, err
	}
	return l.Locker, func() error { return nil }, nil
}

func openPG(driver string) func(string, times) (*lock.Locker, func() error, error) {
	return func(source string, t times) (*lock.Locker, func() error, error) {
		db, err := sql.Open(driver, source)
		if err != nil {
			return nil, nil, err
		}
		l, err := pglock.New(db, pglock.Fencing(), pglock.Heartbeat(t.heartbeat),
			pglock.HeartbeatTimeout(t.timeout), pglock.PollInterval(t.poll))
		if err != nil {
			return nil, nil, err
		}
		return l.Locker, db.Close, nil
	}
}

func openMySQL(source string, t times) (*lock.Locker, func() error, error) {
	db, err := sql.Open("mysql", source)
	if err != nil {
		return nil, nil, err
	}
	l, err := mysqllock.New(db, mysqllock.Fencing(), mysqllock.Heartbeat(t.heartbeat))
	if err != nil {
		return nil, nil, err
	}
	return l.Locker, db.Close, nil
}

func openRedis(source string, t times) (*lock.Locker, func() error, error) {
	client, err := redisClient(source)
	if err != nil {
		return nil, nil, err
	}
	l, err := redislock.New(client, redislock.Fencing(), redislock.Defaults(lock.TTL(t.ttl)))
	if err != nil {
		return nil, nil, err
	}
	return l.Locker, client.Close, nil
}

func redisClient(source string) (redis.UniversalClient, error) {
	options, err := redis.ParseURL(source)
	if err != nil {
		return nil, err
	}
	return redis.NewClient(options), nil
}

func sqlSection(driver string, section func(*sql.DB, string) stress.Section) func(string) (stress.Section, func() error, error) {
	return func(source string) (stress.Section, func() error, error) {
		db, err := sql.Open(driver, source)
		if err != nil {
			return nil, nil, err
		}
		db.SetMaxOpenConns(4)
		return section(db, "visits"), db.Close, nil
	}
}

func redisSection(source string) (stress.Section, func() error, error) {
	client, err := redisClient(source)
	if err != nil {
		return nil, nil, err
	}
	return stress.Redis(client, "visits"), client.Close, nil
}

// prepare makes what lockers, sections and the store need on a server.
func (k *kind) prepare(t *testing.T, source string) {
	t.Helper()
	if k.driver != "" {
		k.exec(t, source, k.schema)
		k.exec(t, source, "create table store (token bigint not null)")
		k.exec(t, source, "insert into store values (0)")
	}
}

func (k *kind) exec(t *testing.T, source, statement string) {
	t.Helper()
	db, err := sql.Open(k.driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// grants is how many grants of key the server has.
func (k *kind) grants(t *testing.T, source string, key lock.Key) (n int) {
	t.Helper()
	var err error
	switch k {
	case redisServer:
		var client redis.UniversalClient
		if client, err = redisClient(source); err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		var count int64
		count, err = client.Exists(t.Context(), redislock.DefaultPrefix+key.HashTag()).Result()
		n = int(count)
	default:
		var db *sql.DB
		if db, err = sql.Open(k.driver, source); err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		query, arg := "select is_used_lock(?) is not null", any(key.Name64())
		if k == postgresql {
			query, arg = `select count(*) from pg_locks where locktype = 'advisory' and granted
				and database = (select oid from pg_database where datname = current_database())
				and (classid::bigint << 32) | objid::bigint = $1`, key.Int64()
		}
		err = db.QueryRowContext(t.Context(), query, arg).Scan(&n)
	}
	if err != nil {
		t.Fatalf("grants of %q: %v", key, err)
	}
	return n
}

// end ends the session that holds key, as an administrator.
func (k *kind) end(t *testing.T, source string, key lock.Key) {
	t.Helper()
	db, err := sql.Open(k.driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	find, arg, kill := `select pid from pg_locks where locktype = 'advisory' and granted
		and (classid::bigint << 32) | objid::bigint = $1`, any(key.Int64()), "select pg_terminate_backend(%d)"
	if k == mariadb {
		find, arg, kill = "select is_used_lock(?)", key.Name64(), "kill %d"
	}
	var session int64
	if err := db.QueryRow(find, arg).Scan(&session); err != nil {
		t.Fatalf("holder of %q: %v", key, err)
	}
	if _, err := db.Exec(fmt.Sprintf(kill, session)); err != nil {
		t.Fatalf("end session %d: %v", session, err)
	}
}

// A store refuses writes with a token that is smaller than one that it saw.
type store interface {
	put(source string, token int64) (accepted bool, err error)
}

type sqlStore struct {
	driver, write string
	twice         bool // the token is given twice
}

func (s sqlStore) put(source string, token int64) (bool, error) {
	db, err := sql.Open(s.driver, source)
	if err != nil {
		return false, err
	}
	defer db.Close()
	args := []any{token}
	if s.twice {
		args = append(args, token)
	}
	result, err := db.Exec(s.write, args...)
	if err != nil {
		return false, fmt.Errorf("store: %w", err)
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

type redisStore struct{}

var redisPut = redis.NewScript(`
	if tonumber(redis.call('GET', KEYS[1]) or '0') > tonumber(ARGV[1]) then return 0 end
	redis.call('SET', KEYS[1], ARGV[1])
	return 1`)

func (redisStore) put(source string, token int64) (bool, error) {
	client, err := redisClient(source)
	if err != nil {
		return false, err
	}
	defer client.Close()
	n, err := redisPut.Run(context.Background(), client, []string{"store"}, token).Int()
	return n == 1, err
}
