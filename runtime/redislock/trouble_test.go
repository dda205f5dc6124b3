package redislock_test

import (
	"sync"
	"testing"
)

// What takes as long as a TTL or a failover runs at the same time, and is looked at for goroutines
// together.
func TestTrouble(t *testing.T) {
	noLeaks(t)
	watchStalls(t)
	t.Run("at once", func(t *testing.T) {
		var all sync.WaitGroup // they wait more than they work: as many as the machine has cores would be few
		for name, test := range map[string]func(*testing.T){
			"killed connections cost no lock":                                killedConnections,
			"half-open connections cost no lock":                             halfOpenConnections,
			"flushed scripts cost no lock":                                   flushedScripts,
			"flushed data is a loss within a renewal":                        flushedData,
			"renewals whose replies are lost are tried again":                lostRenewals,
			"a blackhole after a renewal lets nobody overlap":                blackholeAfterARenewal,
			"several keys on several masters of a cluster are one lock":      severalKeysInACluster,
			"the first of several keys is kept while the second is awaited":  theFirstKeyIsKeptWhileTheSecondIsWaitedFor,
			"an observer that takes its time costs no lock":                  slowObserver,
			"a silent master costs no lock of the others":                    aSilentMaster,
			"a failover keeps what was replicated and tells who lost a lock": aFailover,
		} {
			all.Go(func() { t.Run(name, test) })
		}
		all.Wait()
	})
}
