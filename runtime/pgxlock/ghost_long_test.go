//go:build long

package pgxlock

import "testing"

func TestThirtyThousandTimeoutsLeaveNoLock(t *testing.T) { ghosts(t, 30_000) }
