// Package lockkey locks a customer by name or number while an invoice is made. In bad.go the key has
// 32 bits, so that two customers share one lock, or is a name that MySQL does not take.
package lockkey

import (
	"context"
	"database/sql"
	"fmt"
	"hash/adler32"
	"hash/crc32"
	"hash/fnv"

	"github.com/jackc/pgx/v5"
)

// ByHashtext leaves the hash to the server; hashtext has 32 bits.
func ByHashtext(ctx context.Context, tx *sql.Tx, customer string) (mine bool, err error) {
	err = tx.QueryRowContext(ctx, `SELECT pg_try_advisory_xact_lock(hashtext($1))`, customer).Scan(&mine) // want `32`
	return mine, err
}

// ByChecksum uses a checksum, made to find broken bits and not to tell names apart.
func ByChecksum(ctx context.Context, tx *sql.Tx, customer string) (mine bool, err error) {
	key := int64(crc32.ChecksumIEEE([]byte(customer)))
	err = tx.QueryRowContext(ctx, `SELECT pg_try_advisory_xact_lock($1)`, key).Scan(&mine) // want `32`
	return mine, err
}

// ByAdler uses a checksum that does not even fill its 32 bits for short names.
func ByAdler(ctx context.Context, tx pgx.Tx, customer string) (mine bool, err error) {
	err = tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, int64(adler32.Checksum([]byte(customer)))).Scan(&mine) // want `32`
	return mine, err
}

// fold is a 32-bit hash in a function of its own.
func fold(customer string) int64 {
	h := fnv.New32a()
	h.Write([]byte(customer))
	return int64(h.Sum32())
}

// ByFold gets its key from a helper.
func ByFold(ctx context.Context, tx *sql.Tx, customer string) (mine bool, err error) {
	err = tx.QueryRowContext(ctx, `SELECT pg_try_advisory_xact_lock($1)`, fold(customer)).Scan(&mine) // want `32`
	return mine, err
}

// ByNumber puts a 64-bit number into the second of two keys.
func ByNumber(ctx context.Context, tx *sql.Tx, customer int64) (mine bool, err error) {
	const invoices = 3
	err = tx.QueryRowContext(ctx, `SELECT pg_try_advisory_xact_lock($1, $2)`, invoices, int32(customer)).Scan(&mine) // want `32`
	return mine, err
}

type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// try is right for whatever 64 bits it is given.
func try(ctx context.Context, q rowQuerier, key int64) (mine bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT pg_try_advisory_xact_lock($1)`, key).Scan(&mine)
	return mine, err
}

// ByHelper gives the helper 32 of them.
func ByHelper(ctx context.Context, tx *sql.Tx, customer string) (bool, error) {
	h := fnv.New32()
	fmt.Fprint(h, customer)
	return try(ctx, tx, int64(h.Sum32())) // want `32`
}

// yearEnd has 73 characters.
const yearEnd = "invoices/year-end/consolidated-statement-of-all-branches/awaiting-release"

// ByName locks by a constant name. MariaDB takes it, MySQL 8 answers error 3058.
func ByName(ctx context.Context, conn *sql.Conn) (mine sql.NullBool, err error) {
	err = conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 0)`, yearEnd).Scan(&mine) // want `64`
	return mine, err
}

// ByLongPrefix is too long before the customer's name is added.
func ByLongPrefix(ctx context.Context, conn *sql.Conn, customer string) (mine sql.NullBool, err error) {
	name := fmt.Sprintf("invoices/year-end/consolidated-statement-of-all-branches/customer/%s", customer)
	err = conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 0)`, name).Scan(&mine) // want `64`
	return mine, err
}
