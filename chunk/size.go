package chunk

import (
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// PlainSize returns the length in bytes of the text that a frame says it holds, at
// most MaxPlain. Errors wrap ErrFrame.
func PlainSize(frame []byte) (int, error) {
	var head zstd.Header
	if err := head.Decode(frame); err != nil {
		return 0, fmt.Errorf("read a frame's size: %w: %w", ErrFrame, err)
	}
	if head.Skippable || !head.HasFCS || head.FrameContentSize > MaxPlain {
		return 0, fmt.Errorf("read a frame's size: none, or too large: %w", ErrFrame)
	}
	return int(head.FrameContentSize), nil
}
