package lock_test

import (
	"fmt"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// A key is made alike in every process. Each backend takes the form that its server wants.
func ExampleNewKey() {
	key := lock.NewKey("billing", "invoice", "4711")
	fmt.Println(key)
	fmt.Println("PostgreSQL:", key.Int64())
	fmt.Println("MySQL:     ", key.Name64())
	fmt.Println("Redis:     ", key.HashTag())

	// The parts count, not the text that they make together.
	fmt.Println(key == lock.NewKey("billing", "invoice/4711"))
	// Output:
	// billing/invoice/4711
	// PostgreSQL: 1861291920756304687
	// MySQL:      billing/invoice/4711:19d4a323effbeb2f97bcc5a6ad5eb446
	// Redis:      {billing/invoice/4711:19d4a323effbeb2f97bcc5a6ad5eb446}
	// false
}
