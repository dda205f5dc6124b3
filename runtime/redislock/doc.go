// Package redislock takes locks on Redis, over go-redis v9: on one server, on one behind sentinels, or on
// a cluster.
//
//	locker, err := redislock.New(client, redislock.Fencing())
//	...
//	err = locker.Do(ctx, lock.NewKey("billing", "invoice", id), func(ctx context.Context) error {
//		token, _ := lock.Token(ctx)
//		return settle(ctx, id, token) // the store refuses a token smaller than the last it saw
//	})
//
// # What it promises
//
// A lock is a lease: a Redis key with a random value and an expiry (lock.TTL, MinTTL at least), renewed
// every third of its TTL while it is held. What is held ends for its holder before it ends on the server:
// a lease is believed to last its TTL less a fiftieth and 2 ms, counted on this process's monotonic clock
// from the moment at which the last confirmed renewal was sent. A renewal whose reply comes later, or
// never, does not count. Then Handle.Context ends with lock.ErrLost, and Guard fails even in a process
// that was stopped meanwhile, before any of its timers has run.
//
// Redis keeps the lock as well as it keeps the key. A failover can lose it, since replication does not
// wait; so can a restart without persistence, FLUSHALL, or a maxmemory-policy that evicts keys with an
// expiry (set noeviction, or a server of its own for locks). The holder hears of it with the next
// renewal, and meanwhile another may hold the lock. Monotonic clocks stand still while a machine is
// suspended. So the lock alone is for efficiency; where two holders would do harm, use Fencing and let
// the store refuse smaller tokens.
//
// # Waiting
//
// Who waits asks again after a pause that is random between 0 and a bound (full jitter): 2 ms after
// the first try, doubling to 16 ms, and never longer than the lease of who holds the lock. The bound
// depends on nothing but the number of the try. The 16 ms weigh fairness against requests to the server:
// among 64 clients that hold a lock for 1 ms each, one cycle costs 21 requests (8 with 64 ms), and the
// fairness over a second is 0.75 by Jain's index (0.69 with 64 ms). In one process only the first in
// the queue for a key asks, so that all of a process's goroutines together are one waiter. Several keys are
// taken one after the other; those that are held are renewed meanwhile.
//
// # Round trips
//
// An acquire is one script and so is a release; renewals of all locks of a Locker go in pipelines, one
// for each server. Scripts are called by digest and sent again in full when the server does not know
// them, so that SCRIPT FLUSH does no harm.
//
// After an acquire that failed with its effect unknown (the context ended during the call, or the reply
// was lost), the key is compared with our value and deleted, in the background, until the server has
// answered or the TTL is over. Close waits for that, at most for the longest ReleaseTimeout.
//
// # The client
//
// Calls return when their context ends, whatever the client's timeouts are; what the client still waits
// for goes on aside. Its ReadTimeout decides how soon a connection that fell silent is given up: a
// fraction of the ReleaseTimeout lets a release succeed on another one. A renewal that is not answered
// within a quarter of the TTL is sent again without waiting for that. Renewals need connections: a pool
// that the rest of the program can exhaust costs locks, so give them a client of their own then.
package redislock
