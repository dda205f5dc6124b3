//go:build long

package check_test

const long = true
