package lines

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds the memory that a stream may ask for: the largest that zstd --long
// produces without being told a size.
const maxWindow = 128 << 20

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
