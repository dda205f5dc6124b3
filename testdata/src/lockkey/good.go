package lockkey

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"hash/fnv"

	"github.com/jackc/pgx/v5"
)

// ByHashtextExtended leaves the hash to the server, with 64 bits.
func ByHashtextExtended(ctx context.Context, tx *sql.Tx, customer string) (mine bool, err error) {
	err = tx.QueryRowContext(ctx, `SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0))`, customer).Scan(&mine)
	return mine, err
}

// ByDigest takes the first 64 bits of a digest, which is a good hash of any length.
func ByDigest(ctx context.Context, tx pgx.Tx, customer string) (mine bool, err error) {
	sum := sha256.Sum256([]byte(customer))
	key := int64(binary.BigEndian.Uint64(sum[:8]))
	err = tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, key).Scan(&mine)
	return mine, err
}

// fold64 is fold with 64 bits.
func fold64(customer string) int64 {
	h := fnv.New64a()
	h.Write([]byte(customer))
	return int64(h.Sum64())
}

// ByFold64 gets its key from a helper.
func ByFold64(ctx context.Context, tx *sql.Tx, customer string) (bool, error) {
	return try(ctx, tx, fold64(customer))
}

// ByWholeNumber gives the number all of one key.
func ByWholeNumber(ctx context.Context, tx *sql.Tx, customer int64) (bool, error) {
	return try(ctx, tx, customer)
}

// ByShortName has a name that fits MySQL and MariaDB.
func ByShortName(ctx context.Context, conn *sql.Conn) (mine sql.NullBool, err error) {
	err = conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 0)`, "invoices/year-end").Scan(&mine)
	return mine, err
}

// ByHashedName has a name of 64 characters for any customer.
func ByHashedName(ctx context.Context, conn *sql.Conn, customer string) (mine sql.NullBool, err error) {
	name := fmt.Sprintf("%x", sha256.Sum256([]byte("year-end/"+customer)))
	err = conn.QueryRowContext(ctx, `SELECT GET_LOCK(?, 0)`, name).Scan(&mine)
	return mine, err
}
