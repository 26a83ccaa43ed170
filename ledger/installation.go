package ledger

import (
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

// OpenInstallation returns the random id of this installation, 32 hexadecimal digits,
// and draws it, once and durably, when there is none. Two machines of one owner have
// the same key and different installations; each source belongs to one of them.
func OpenInstallation(s *State, random io.Reader) (string, error) {
	id, err := ReadInstallation(s)
	if !errors.Is(err, fs.ErrNotExist) {
		return id, err
	}
	drawn := make([]byte, installationBytes)
	if _, err := io.ReadFull(random, drawn); err != nil {
		return "", fmt.Errorf("draw an installation id: %w", err)
	}
	err = durable.Create(s.disk, s.Path(installationFile), []byte(hex.EncodeToString(drawn)+"\n"), privateFile)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make the installation id: %w", err)
	}
	return ReadInstallation(s)
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
