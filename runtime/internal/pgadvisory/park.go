package pgadvisory

import (
	"context"
	"net"
	"time"
)

// past is a deadline that ends a read at once.
var past = time.Unix(1, 0)

// ReadUntil is Session.Park for a connection whose network is known: it has read come again until that fails,
// and ends it when ctx ends by a deadline of its own. A driver, told to end a read by a context, may be
// configured to send the server a cancel request. Ended reports whether the connection is of no more use.
func ReadUntil(ctx context.Context, network net.Conn, read func() error, ended func() bool) error {
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = network.SetReadDeadline(past)
	})
	var err error
	for err == nil {
		err = read()
	}
	if !stop() {
		<-interrupted
		_ = network.SetReadDeadline(time.Time{})
	}
	if ctx.Err() != nil && !ended() {
		return nil
	}
	return err
}
