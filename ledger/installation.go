package ledger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"agentsync/ledger/durable"
)

const (
	installationFile  = "installation"
	installationBytes = 16
	maxInstallation   = 256 // bytes
)

// OpenInstallation returns the id of this installation, 32 hexadecimal digits, and makes
// it, once and durably, when there is none. Two machines of one owner have the same key
// and different installations; each source belongs to one of them. What tells the machine
// from others, "" when nothing does, makes the id: an installation that lost its state
// comes back under the same id when the owner, the machine and the folder are the same.
// Where nothing tells, or anything differs, it is another installation, which takes
// nothing over by itself.
func OpenInstallation(s *State, owner, machine string, random io.Reader) (string, error) {
	id, err := FindInstallation(s, owner, machine)
	if _, unwritten := ReadInstallation(s); unwritten == nil || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	if err != nil {
		drawn := make([]byte, installationBytes)
		if _, err := io.ReadFull(random, drawn); err != nil {
			return "", fmt.Errorf("draw an installation id: %w", err)
		}
		id = hex.EncodeToString(drawn)
	}
	err = durable.Create(s.disk, s.Path(installationFile), []byte(id+"\n"), privateFile)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make the installation id: %w", err)
	}
	return ReadInstallation(s)
}

// FindInstallation returns the id that OpenInstallation would, and makes none;
// fs.ErrNotExist when it would be drawn.
func FindInstallation(s *State, owner, machine string) (string, error) {
	id, err := ReadInstallation(s)
	if !errors.Is(err, fs.ErrNotExist) || machine == "" || owner == "" {
		return id, err
	}
	mac := hmac.New(sha256.New, []byte(machine)) // the machine's id itself is nobody's business
	fmt.Fprintf(mac, "agentsync installation\n%s\n%s\n", owner, s.dir)
	return hex.EncodeToString(mac.Sum(nil)[:installationBytes]), nil
}

// ReadInstallation returns the id of this installation; fs.ErrNotExist when there is
// none yet.
func ReadInstallation(s *State) (string, error) {
	path := s.Path(installationFile)
	content, err := readPrivate(s.disk, path, maxInstallation)
	if err != nil {
		return "", fmt.Errorf("read installation id: %w", err)
	}
	id := strings.TrimSuffix(string(content), "\n")
	if raw, err := hex.DecodeString(id); err != nil || len(raw) != installationBytes {
		return "", &CorruptError{Path: path, Field: "id", Err: errors.New("is not 32 hexadecimal digits")}
	}
	return id, nil
}
