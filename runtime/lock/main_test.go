package lock_test

import (
	"testing"

	"github.com/advisorylint/advisorylint/internal/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }
