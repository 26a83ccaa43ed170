package lines

import (
	"errors"
	"fmt"
	"io"

	"github.com/cespare/xxhash/v2"

	"agentsync/collect"
)

// accept decides whether reading may begin at the resume's position. All bytes that were
// read then are read again and compared by their hash: one pass that parses nothing.
// It returns the hash's state at that position.
func (r *Reader) accept(from *collect.Resume) (before xxhash.Digest, err error) {
	if from == nil || !plausible(*from, r.opened) {
		return before, nil
	}
	before.Reset()
	last, err := r.hash(&before, 0, from.At.Offset)
	if err != nil || last != '\n' { // a line's beginning decides how its rest is to be read
		return before, err
	}
	sum := before
	if _, err := r.hash(&sum, from.At.Offset, from.Stamp.Size); err != nil || sum.Sum64() != from.Prefix {
		return before, err
	}
	r.resumed, r.at = true, from.At
	return before, nil
}

// plausible compares what needs no reading. The file may be another one of the name: it
// is the bytes that count.
func plausible(from collect.Resume, now stat) bool {
	return from.Stamp.Size > 0 && now.size >= from.Stamp.Size &&
		from.At.Offset >= 0 && from.At.Offset <= from.Stamp.Size && from.At.State == ""
}

// hash adds the file's bytes between two offsets, and returns the last of them, a line's
// end for none. A file that ends before that is hashed as far as it goes.
func (r *Reader) hash(sum *xxhash.Digest, from, to int64) (last byte, err error) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	last = '\n'
	for from < to {
		n, err := r.file.ReadAt((*buffer)[:min(int64(len(*buffer)), to-from)], from)
		_, _ = sum.Write((*buffer)[:n])
		if n > 0 {
			last = (*buffer)[n-1]
		}
		from += int64(n)
		if errors.Is(err, io.EOF) {
			return last, nil
		}
		if err != nil {
			return last, err
		}
	}
	return last, nil
}

// Finish says what was read; it is to be called once Next has returned io.EOF. It sets
// the trailer's Complete, Resume, Waiting, Problems and Damaged, the last two for the events
// read here, and nothing else. Resume.Stamp.Size is the number of bytes consumed,
// which Resume.Prefix is the hash of: less than the file's size when an unfinished last
// line was left alone. (Of a zstd stream, which is never resumed, it is the file's own
// size, and the hash is of the lines.) A *collect.ChangedError says that the file was rewritten meanwhile.
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
			Stamp:  stamp,
			Prefix: r.window.prefix(),
			At:     r.at,
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
	var sum xxhash.Digest
	sum.Reset()
	_, err = r.hash(&sum, 0, r.at.Offset)
	return sum.Sum64() == r.window.prefix(), err
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
