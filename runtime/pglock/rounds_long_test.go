//go:build long

package pglock_test

// How often tests that look for rare moments try.
const cancelRounds = 1500
