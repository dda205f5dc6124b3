package libcheck

// The lock libraries, which locks_test.go holds the rows of leases against.
import (
	_ "github.com/bsm/redislock"
	_ "github.com/go-redsync/redsync/v4"
	_ "github.com/redis/rueidis/rueidislock"
	_ "go.etcd.io/etcd/client/v3/concurrency"
)
