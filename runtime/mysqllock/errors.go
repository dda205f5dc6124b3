package mysqllock

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

var (
	// errNull: GET_LOCK never answers NULL because someone else holds the lock. KILL QUERY and MariaDB's
	// max_statement_time make it NULL (measured); a server without memory does, too (MySQL's manual).
	errNull = errors.New("GET_LOCK answered NULL: the server stopped the statement, or has no memory for the lock")

	// errSilent ends a statement that the server does not answer.
	errSilent = errors.New("no answer from the server")

	// errForeign: the connection that the pool gave has one of the locks already, from someone who gave it
	// back with the lock on it. GET_LOCK there would succeed however many others believe to hold it.
	errForeign = errors.New("a connection of the pool was given back with this lock on it")
)

// Codes of the server's errors (MySQL's Server Error Message Reference, MariaDB's Error Codes).
const (
	codeDeadlock     = 1213 // ER_LOCK_DEADLOCK: what MariaDB's GET_LOCK gives
	codeLockWait     = 1205 // ER_LOCK_WAIT_TIMEOUT: of a row
	codeNoTable      = 1146 // ER_NO_SUCH_TABLE
	codeUserDeadlock = 3058 // ER_USER_LOCK_DEADLOCK: what MySQL's GET_LOCK gives
)

// serverCode is the code of an error that the server sent, after which the connection is as good as
// before, and 0 for any other error. Drivers have no method for it: go-sql-driver's MySQLError has a
// field Number, go-mysql-org's MyError a field Code. Looking for the fields spares programs that use
// another driver the dependency.
func serverCode(err error) uint16 {
	for ; err != nil; err = errors.Unwrap(err) {
		v := reflect.Indirect(reflect.ValueOf(err))
		if v.Kind() != reflect.Struct {
			continue
		}
		for _, field := range [...]string{"Number", "Code"} {
			if f := v.FieldByName(field); f.IsValid() && f.Kind() == reflect.Uint16 {
				return uint16(f.Uint())
			}
		}
	}
	return 0
}

// deadlock marks the error of a GET_LOCK that the server ended because of a deadlock.
func deadlock(err error) error {
	if code := serverCode(err); code == codeDeadlock || code == codeUserDeadlock {
		return fmt.Errorf("%w: %w", lock.ErrDeadlock, err)
	}
	return err
}
