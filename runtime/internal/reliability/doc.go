// Package reliability has tests only: what the locks of every backend do when servers, networks and
// processes fail. The servers and processes are real; the network is a proxy that fails on demand.
//
// The usual tests have short forms of those that take long, which run with the build tag long.
package reliability
