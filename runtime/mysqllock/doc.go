// Package mysqllock takes the locks of package lock with GET_LOCK, on MySQL from 5.7 and MariaDB from
// 10.0.2: before these, a second GET_LOCK of a connection frees its first. It works over database/sql
// with any driver; the tests use github.com/go-sql-driver/mysql.
//
// A lock belongs to a connection, so that each Handle keeps one connection of the pool from Acquire to
// Release. It lasts as long as the connection, without a lease. The server frees it when it sees the
// connection end, which on a network that is silent is after wait_timeout, 8 hours by default: use TCP
// keepalive there. Someone who must not be overtaken by his own late writes needs Fencing.
//
// The pool must have room: with SetMaxOpenConnections(n), n-1 connections at most hold locks or wait for
// them; one more is lock.ErrPoolExhausted.
//
// A lock is of one server: it is not replicated, so that locks taken at two primaries, or before and
// after a failover, do not exclude each other. Behind a proxy that gives the statements of one client to
// several server connections, such as ProxySQL for connections that it multiplexes, the error is
// lock.ErrPooler.
//
// What is said of MariaDB was measured with 10.11. What is said of MySQL is from its manual (Locking
// Functions, Server Error Message Reference), and was not measured.
package mysqllock
