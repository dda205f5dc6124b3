package main

import (
	"bytes"
	"crypto/sha256"
	bits "encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
)

// programID tells this binary from all others: the build ID that the go command gave it, which has a hash of
// its content, or a hash of the file where there is none.
func programID() (string, error) {
	name, err := os.Executable()
	if err != nil {
		return "", err
	}
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	head := make([]byte, 32<<10)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	if id := buildID(head[:n]); id != "" {
		return id, nil
	}
	hash := sha256.New()
	hash.Write(head[:n])
	if _, err := io.Copy(hash, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// buildID finds the note with Go's build ID in the first bytes of an ELF file, "" when there is none. The note is
// three words (the lengths of name and text, and the type 4), the name "Go" and the text: elf(5),
// cmd/internal/buildid. The go command's own has four hashes, of which the last is that of the content; other
// builders put in what is the same for all binaries.
func buildID(head []byte) string {
	const lengths, name = 8, "\x04\x00\x00\x00Go\x00\x00"
	i := bytes.Index(head, []byte(name))
	if !bytes.HasPrefix(head, []byte("\x7fELF\x02\x01")) || i < lengths { // of 64 bits, little-endian
		return ""
	}
	text, n := head[i+len(name):], bits.LittleEndian.Uint32(head[i-4:])
	if int64(n) > int64(len(text)) {
		return ""
	}
	id := string(text[:n])
	if hashes := strings.Split(id, "/"); len(hashes) != 4 || len(hashes[3]) < 16 {
		return ""
	}
	return id
}
