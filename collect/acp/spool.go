package acp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

const (
	spoolMemory = 1 << 20  // bytes of a history that are kept in memory
	spoolBuffer = 64 << 10 // bytes between the file and its reader or writer
)

// spool holds a history's lines between its load and its consumer: in memory while they
// are few, then in a file without a name. One goroutine writes, and after that one reads.
type spool struct {
	folder string // for the file; "" keeps everything in memory
	memory []byte
	file   *os.File
	out    *bufio.Writer
	size   int64 // bytes
}

// add appends one line, whose end it adds.
func (s *spool) add(line []byte) error {
	if s.file == nil && s.folder != "" && len(s.memory)+len(line)+1 > spoolMemory {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.size += int64(len(line)) + 1
	if s.file == nil {
		s.memory = append(append(s.memory, line...), '\n')
		return nil
	}
	if _, err := s.out.Write(line); err != nil {
		return fmt.Errorf("keep a history for its reading: %w", err)
	}
	return s.out.WriteByte('\n')
}

// spill moves what is in memory to a file that is already unlinked, where the system
// allows that: then nothing is left of it whatever becomes of this process.
func (s *spool) spill() error {
	file, err := os.CreateTemp(s.folder, "agentsync-acp-*")
	if err != nil {
		return fmt.Errorf("keep a history for its reading: %v", err) // a missing folder is no missing session
	}
	_ = os.Remove(file.Name()) // refused on Windows, where close removes it
	s.file, s.out = file, bufio.NewWriterSize(file, spoolBuffer)
	_, err = s.out.Write(s.memory)
	s.memory = nil
	return err
}

// reader gives the lines back.
func (s *spool) reader() (*bufio.Reader, error) {
	if s.file == nil {
		return bufio.NewReader(bytes.NewReader(s.memory)), nil
	}
	if err := s.out.Flush(); err != nil {
		return nil, fmt.Errorf("keep a history for its reading: %w", err)
	}
	s.out = nil
	return bufio.NewReaderSize(io.NewSectionReader(s.file, 0, s.size), spoolBuffer), nil
}

// close forgets the lines.
func (s *spool) close() error {
	s.memory = nil
	if s.file == nil {
		return nil
	}
	file := s.file
	s.file = nil
	err := file.Close()
	if gone := os.Remove(file.Name()); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		return errors.Join(err, gone)
	}
	return err
}
