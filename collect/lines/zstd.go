package lines

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds the memory that a stream may ask for: the largest that zstd --long
// produces without being told a size.
const maxWindow = 128 << 20

// WholeZstd reports that a file is one whole zstd stream, which another program's file of
// that name or one that was never written to its end is not. An error is of the reading.
func WholeZstd(path string, follow bool) (bool, error) {
	r, err := Open(path, Options{Follow: follow})
	if err != nil {
		return false, err
	}
	defer r.Close()
	if r.opened.size == 0 {
		return false, nil
	}
	decoder, err := zstd.NewReader(io.NewSectionReader(r.file, 0, r.opened.size),
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return false, fmt.Errorf("decompress transcript %s: %w", path, err)
	}
	defer decoder.Close()
	if _, err = io.Copy(io.Discard, decoder); err == nil {
		return true, nil
	}
	if _, unread := errors.AsType[*fs.PathError](err); unread {
		return false, err
	}
	return false, nil
}

// beginZstd reads the file as one compressed stream. Offsets are those of the lines.
func (r *Reader) beginZstd() error {
	if r.opened.size == 0 {
		return fmt.Errorf("decompress transcript %s: %w", r.path, io.ErrUnexpectedEOF)
	}
	decoder, err := zstd.NewReader(io.NewSectionReader(r.file, 0, r.opened.size),
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return fmt.Errorf("decompress transcript %s: %w", r.path, err)
	}
	closer := decoder.IOReadCloser()
	r.decoder = closer
	r.window = newWindow(closer, -1)
	return nil
}
