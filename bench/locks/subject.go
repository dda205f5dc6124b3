package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A system is a kind of server.
type system string

const (
	postgresql system = "PostgreSQL"
	redisdb    system = "Redis"
	mariadb    system = "MariaDB"
)

// A subject is one library in one configuration. All of them are rows of tables: adding a library adds
// rows.
type subject struct {
	system   system
	library  string // as the tables call it
	variant  string // "defaults", "tuned", or what tells two floors apart
	settings string // what the variant means, in words
	ours     bool
	module   string // whose version matters: the library's, or what ours and the floors use

	// floor marks a subject that takes no lock: what the requests of a lock cost at least. It is
	// measured without contention only.
	floor bool

	// goals is how many times a floor's time the subject may take without contention, by the floor's variant.
	goals map[string]float64

	// open makes what one process would have: a pool or client, and the locker on it. Nothing of two
	// opens is shared. Key is the lock's, the same for all who contend.
	open func(ctx context.Context, at address, key string) (client, error)
}

func (s subject) name() string {
	if s.variant == "" {
		return s.library
	}
	return s.library + " (" + s.variant + ")"
}

// An address says where a server is, in the form that clients of its system take: a URL for PostgreSQL,
// host and port for Redis, a data source name for MariaDB.
type address string

// A client is what a process has of a subject.
type client struct {
	// contender makes what one goroutine takes and releases the lock with.
	contender func(ctx context.Context) (acquire, error)

	// close ends everything that open and contender began.
	close func()
}

// acquire waits for the lock as long as ctx lasts and gives what releases it.
type acquire func(ctx context.Context) (release, error)

// release frees the lock. An error says that the lock was lost, or that it may not be free.
type release func(ctx context.Context) error

// cycle takes the lock and releases it.
func (take acquire) cycle(ctx context.Context) error {
	free, err := take(ctx)
	if err != nil {
		return err
	}
	return free(ctx)
}

// same is the contender of a library whose locker goroutines share.
func same(a acquire) func(context.Context) (acquire, error) {
	return func(context.Context) (acquire, error) { return a, nil }
}

// subjects are all rows, ours first in each system.
func subjects() []subject {
	return slices.Concat(ourPostgres, postgresSubjects, ourRedis, redisSubjects, ourMariaDB, mariadbFloors)
}

// chosen are the subjects of the systems named, and with one of the words in their names. Without
// systems, or without words, all are.
func chosen(systems, words []string) ([]subject, error) {
	some := slices.DeleteFunc(subjects(), func(s subject) bool {
		return len(systems) > 0 && !slices.Contains(systems, string(s.system)) ||
			len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s.name(), w) })
	})
	if len(some) == 0 {
		return nil, fmt.Errorf("nothing to measure with systems %q and libraries %q", systems, words)
	}
	return some, nil
}
