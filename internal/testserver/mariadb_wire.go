//go:build unix

package testserver

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Capabilities of the client (MariaDB manual, Connecting to the server).
const (
	mariadbProtocol41   = 1 << 9
	mariadbSecure       = 1 << 15
	mariadbPluginAuth   = 1 << 19
	mariadbUTF8         = 33
	mariadbNativePlugin = "mysql_native_password"
)

// mariadbExec runs one statement that returns no rows over a connection of its own. It speaks just
// enough of the protocol for an account without a password, as postgresExec does.
func mariadbExec(port int, statement string) error {
	conn, err := net.DialTimeout("tcp", loopback(port), wireTimeout)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(wireTimeout))
	in := bufio.NewReader(conn)

	greeting, seq, err := mariadbPacket(in)
	if err != nil {
		return err
	}
	if len(greeting) == 0 || greeting[0] != 10 {
		return mariadbError(greeting)
	}
	login := binary.LittleEndian.AppendUint32(nil, mariadbProtocol41|mariadbSecure|mariadbPluginAuth)
	login = binary.LittleEndian.AppendUint32(login, 1<<20) // the largest packet we take
	login = append(login, mariadbUTF8)
	login = append(login, make([]byte, 23)...)
	login = append(append(login, mariadbUser...), 0)
	login = append(login, 0) // the answer of an empty password is empty
	login = append(append(login, mariadbNativePlugin...), 0)
	reply, seq, err := mariadbAsk(conn, in, seq+1, login)
	if err != nil {
		return err
	}
	// The server may ask for another plugin: an empty password answers that emptily, too.
	const switchAuth = 0xfe
	if len(reply) > 0 && reply[0] == switchAuth {
		if reply, _, err = mariadbAsk(conn, in, seq+1, nil); err != nil {
			return err
		}
	}
	if err := mariadbError(reply); err != nil {
		return err
	}
	const query, quit = 3, 1
	reply, _, err = mariadbAsk(conn, in, 0, append([]byte{query}, statement...))
	if err != nil {
		return err
	}
	if err := mariadbError(reply); err != nil {
		return err
	}
	_, err = conn.Write([]byte{1, 0, 0, 0, quit})
	return err
}

// mariadbAsk sends a packet and reads the answer.
func mariadbAsk(out io.Writer, in *bufio.Reader, seq byte, body []byte) ([]byte, byte, error) {
	header := binary.LittleEndian.AppendUint32(nil, uint32(len(body)))
	header[3] = seq
	if _, err := out.Write(append(header, body...)); err != nil {
		return nil, 0, err
	}
	return mariadbPacket(in)
}

// mariadbPacket reads a packet: three bytes of length, a sequence number, the body.
func mariadbPacket(in *bufio.Reader) (body []byte, seq byte, err error) {
	var header [4]byte
	if _, err := io.ReadFull(in, header[:]); err != nil {
		return nil, 0, err
	}
	seq, header[3] = header[3], 0
	body = make([]byte, binary.LittleEndian.Uint32(header[:]))
	_, err = io.ReadFull(in, body)
	return body, seq, err
}

// mariadbError is nil for an OK packet. An error packet is 0xff, a two-byte number, and, once the
// connection is set up, '#' with five characters of SQLSTATE, then the text.
func mariadbError(packet []byte) error {
	switch {
	case len(packet) == 0:
		return errors.New("empty packet: not a MariaDB server")
	case packet[0] == 0:
		return nil
	case packet[0] == 0xff && len(packet) > 3:
		return fmt.Errorf("error %d: %s", binary.LittleEndian.Uint16(packet[1:]), packet[3:])
	}
	return fmt.Errorf("packet of type %#x: not expected", packet[0])
}
