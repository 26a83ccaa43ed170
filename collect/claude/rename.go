package claude

import (
	"context"
	"errors"
	"fmt"
	"os"

	"agentsync/collect"
	"agentsync/collect/value"
)

// Rename gives a session a title by one more line at the end of its transcript, as the
// client does (spec, agents 3.4). A torn last line is left as it is: the client finds a
// title behind one.
func (d *Driver) Rename(ctx context.Context, nativeSessionID, title string) (collect.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return collect.Outcome{}, err
	}
	if title = trim(title); title == "" {
		return *refused(collect.Failed, "claude-title-invalid", "title must be non-empty", false), nil
	}
	if !isUUID(nativeSessionID) {
		return *refused(collect.Failed, "claude-session-id-invalid", "Invalid sessionId: "+nativeSessionID, false), nil
	}
	s, problem := d.conversation(nativeSessionID)
	if problem != nil && problem.Problem.Code == "claude-session-not-found" {
		problem.Problem.Message = d.notFound(nativeSessionID)
	}
	if problem != nil {
		return *problem, nil
	}
	begun, err := appendDurably(d.file(s), titleLine(nativeSessionID, title))
	if err == nil {
		return collect.Outcome{Status: collect.Succeeded}, nil
	}
	p := &collect.OperationProblem{Code: "claude-rename-failed", Message: "the title could not be written: " + reason(err).Error(), Retryable: true}
	if begun {
		return collect.Outcome{Status: collect.Unknown, Problem: &collect.OperationProblem{
			Code: "claude-rename-outcome-unknown", Message: p.Message}}, nil
	}
	return collect.Outcome{Status: collect.Failed, Problem: p, Untouched: true}, nil
}

// notFound is what the client says of a session that is not there.
func (d *Driver) notFound(id string) string {
	if d.cwd != "" {
		return "Session " + id + " not found in project directory for " + d.cwd
	}
	return "Session " + id + " not found in any project directory"
}

// titleLine is the line as the client writes it.
func titleLine(id, title string) []byte {
	b := value.AppendString([]byte(`{"type":"custom-title","customTitle":`), title)
	b = value.AppendString(append(b, `,"sessionId":`...), id)
	return append(b, '}', '\n')
}

// appendDurably adds bytes to a file that is there, and returns when they will survive a
// loss of power. It follows no link. begun tells that something may have been written.
func appendDurably(path string, line []byte) (begun bool, err error) {
	seen, err := os.Lstat(path)
	if err != nil {
		return false, err
	}
	if !seen.Mode().IsRegular() {
		return false, &os.PathError{Op: "append to", Path: path, Err: errors.New("not a regular file")}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	opened, err := f.Stat()
	if err != nil {
		return false, err
	}
	if !os.SameFile(seen, opened) {
		return false, fmt.Errorf("append to %s: another file took its place", path)
	}
	if _, err := f.Write(line); err != nil {
		return true, err
	}
	return true, f.Sync()
}
