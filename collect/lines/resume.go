package lines

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"agentsync/collect"
)

// fingerprintSize is how many bytes at either end of what was consumed are compared
// before a file is believed to have only grown.
const fingerprintSize = 4096

// fingerprint is the first 64 bits of the bytes' SHA-256.
func fingerprint(p []byte) uint64 {
	sum := sha256.Sum256(p)
	return binary.BigEndian.Uint64(sum[:])
}

// accept decides whether reading may begin at the resume's position, and returns the
// offset from which the window is to be filled.
func (r *Reader) accept(from *collect.Resume) (int64, error) {
	if from == nil || !plausible(*from, r.opened) {
		return 0, nil
	}
	head, err := r.piece(0, from.Stamp.Size)
	if err != nil {
		return 0, err
	}
	tail, err := r.piece(from.Stamp.Size-fingerprintSize, from.Stamp.Size)
	if err != nil {
		return 0, err
	}
	if fingerprint(head) != from.Head || fingerprint(tail) != from.Tail {
		return 0, nil
	}
	before, err := r.piece(from.At.Offset-fingerprintSize, from.At.Offset)
	if err != nil {
		return 0, err
	}
	if len(before) > 0 && before[len(before)-1] != '\n' {
		return 0, nil // a line's beginning decides how its rest is to be read
	}
	r.resumed = true
	r.head = head[:min(int64(len(head)), from.At.Offset)]
	return from.At.Offset - int64(len(before)), nil
}

// plausible compares what needs no reading.
func plausible(from collect.Resume, now stat) bool {
	return from.Stamp.Device == now.device && from.Stamp.Inode == now.inode &&
		from.Stamp.Size > 0 && now.size > from.Stamp.Size &&
		from.At.Offset >= 0 && from.At.Offset <= from.Stamp.Size && from.At.State == ""
}

// piece reads at most fingerprintSize bytes of the file between two offsets.
func (r *Reader) piece(from, to int64) ([]byte, error) {
	from = max(0, from)
	p := make([]byte, min(fingerprintSize, to-from))
	n, err := r.file.ReadAt(p, from)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return p[:n], err
}

// Finish says what was read; it is to be called once Next has returned io.EOF. It sets
// the trailer's Complete, Resume, Waiting, Problems and Damaged, the last two for the events
// read here, and nothing else. Resume.Stamp.Size is the number of bytes consumed,
// which both fingerprints describe: less than the file's size when an unfinished last
// line was left alone. (Of a zstd stream, which is never resumed, it is the file's own
// size, and the fingerprints are of the lines.) A *collect.ChangedError says that the file was rewritten meanwhile.
func (r *Reader) Finish() (collect.Trailer, error) {
	if r.err != nil {
		return collect.Trailer{}, r.err
	}
	if !r.ended {
		return collect.Trailer{}, fmt.Errorf("finish transcript %s: not read to its end", r.path)
	}
	same, err := r.unchanged()
	if err != nil {
		return collect.Trailer{}, fmt.Errorf("finish transcript: %w", err)
	}
	if !same {
		return collect.Trailer{}, &collect.ChangedError{Path: r.path}
	}
	stamp := r.opened.stamp()
	if r.decoder == nil {
		stamp.Size = r.at.Offset
	}
	return collect.Trailer{
		Complete: true,
		Resume: collect.Resume{
			Stamp: stamp,
			Head:  fingerprint(r.head),
			Tail:  fingerprint(r.window.last()),
			At:    r.at,
		},
		Problems: r.damage.problems(r.path, r.at.Line+1, r.waiting),
		Damaged:  r.damage.counts,
		Waiting:  int64(r.waiting),
	}, nil
}

// unchanged reports that what was read is still a prefix of the file.
func (r *Reader) unchanged() (bool, error) {
	now, err := statFile(r.file)
	if err != nil {
		return false, err
	}
	if now == r.opened {
		return true, nil
	}
	if r.decoder != nil || now.size <= r.opened.size {
		return false, nil
	}
	head, err := r.piece(0, int64(len(r.head)))
	if err != nil {
		return false, err
	}
	tail, err := r.piece(r.at.Offset-fingerprintSize, r.at.Offset)
	return string(head) == string(r.head) && string(tail) == string(r.window.last()), err
}

// Rewritten reports that the file is shorter now than it was when opened, or was
// written without growing. It is for readers by ReadAt, which Finish knows nothing of.
func (r *Reader) Rewritten() (bool, error) {
	now, err := statFile(r.file)
	if err != nil {
		return false, fmt.Errorf("check file: %w", err)
	}
	return now != r.opened && now.size <= r.opened.size, nil
}
