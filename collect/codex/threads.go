package codex

import (
	"context"

	"agentsync/collect"
)

// The parts of the app server's answers that are looked at (codex-cli 0.171.0).
type (
	threadAnswer struct {
		Thread         wireThread `json:"thread"`
		Cwd            string     `json:"cwd"`
		ApprovalPolicy any        `json:"approvalPolicy"`
		Sandbox        wireKind   `json:"sandbox"`
	}
	wireThread struct {
		ID        string     `json:"id"`
		Name      string     `json:"name"`
		Preview   string     `json:"preview"`
		Cwd       string     `json:"cwd"`
		CreatedAt float64    `json:"createdAt"` // seconds since 1970 UTC
		Status    wireKind   `json:"status"`
		Turns     []wireTurn `json:"turns"`
	}
	wireTurn struct {
		ID          string     `json:"id"`
		Status      string     `json:"status"`
		Error       *wireError `json:"error"`
		StartedAt   float64    `json:"startedAt"` // seconds since 1970 UTC, 0 when not known
		CompletedAt float64    `json:"completedAt"`
		Items       []wireItem `json:"items"`
	}
	wireError struct {
		Info any `json:"codexErrorInfo"` // a word, or a record with one
	}
	wireItem struct {
		Type     string  `json:"type"`
		ClientID *string `json:"clientId"` // the mark of a userMessage, nil for none
		Content  []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
)

// wireKind is a record of which the type counts, kept whole.
type wireKind map[string]any

func (k wireKind) kind() string {
	text, _ := k["type"].(string)
	return text
}

// resume loads a thread, so that a turn can be started in it.
func (s *server) resume(ctx context.Context, thread string) (threadAnswer, error) {
	var answer threadAnswer
	err := s.call(ctx, "thread/resume", struct {
		ThreadID     string `json:"threadId"`
		ExcludeTurns bool   `json:"excludeTurns"`
	}{thread, true}, &answer)
	return answer, err
}

// newThread begins a thread in a folder. No file of it is made before it gets a name or
// a turn.
func (s *server) newThread(ctx context.Context, cwd string) (threadAnswer, error) {
	var answer threadAnswer
	err := s.call(ctx, "thread/start", struct {
		Cwd string `json:"cwd"`
	}{cwd}, &answer)
	return answer, err
}

// setName names a thread, loaded or not.
func (s *server) setName(ctx context.Context, thread, name string) error {
	return s.call(ctx, "thread/name/set", struct {
		ThreadID string `json:"threadId"`
		Name     string `json:"name"`
	}{thread, name}, nil)
}

// wireText is a prompt's text as the app server takes it.
type wireText struct {
	Type         string   `json:"type"`
	Text         string   `json:"text"`
	TextElements []string `json:"text_elements"`
}

// startTurn sends a prompt to a loaded thread and returns the id of its turn, "" when
// the answer has none. The server keeps the prompt's mark with the message, and shows it to
// no model. With full, the turn runs without any restriction.
func (s *server) startTurn(ctx context.Context, thread string, said collect.PromptInput, full bool) (string, error) {
	params := struct {
		ThreadID       string     `json:"threadId"`
		Mark           string     `json:"clientUserMessageId,omitempty"`
		Input          []wireText `json:"input"`
		ApprovalPolicy string     `json:"approvalPolicy,omitempty"`
		SandboxPolicy  wireKind   `json:"sandboxPolicy,omitempty"`
	}{ThreadID: thread, Mark: said.Mark, Input: []wireText{{"text", said.Text, []string{}}}}
	if full {
		params.ApprovalPolicy, params.SandboxPolicy = "never", wireKind{"type": fullAccess}
	}
	var answer struct {
		Turn wireTurn `json:"turn"`
	}
	err := s.call(ctx, "turn/start", params, &answer)
	return answer.Turn.ID, err
}

// fullAccess is the sandbox that keeps nothing out.
const fullAccess = "dangerFullAccess"

// restore gives a thread the restrictions back that it had: what is set for a turn stays
// for all later ones, in whatever program.
func (s *server) restore(ctx context.Context, thread string, before threadAnswer) error {
	return s.call(ctx, "thread/settings/update", struct {
		ThreadID       string   `json:"threadId"`
		ApprovalPolicy any      `json:"approvalPolicy"`
		SandboxPolicy  wireKind `json:"sandboxPolicy"`
	}{thread, before.ApprovalPolicy, before.Sandbox}, nil)
}

// interruptTurn asks the server to end a turn.
func (s *server) interruptTurn(ctx context.Context, thread, turn string) error {
	return s.call(ctx, "turn/interrupt", struct {
		ThreadID string `json:"threadId"`
		TurnID   string `json:"turnId"`
	}{thread, turn}, nil)
}

// readThread reads a thread without waking it. Its turns may be missing although it has
// some: they come from a store that a copied home does not have.
func (s *server) readThread(ctx context.Context, thread string) (wireThread, error) {
	var answer threadAnswer
	err := s.call(ctx, "thread/read", struct {
		ThreadID     string `json:"threadId"`
		IncludeTurns bool   `json:"includeTurns"`
	}{thread, true}, &answer)
	return answer.Thread, err
}

// sourceKinds are all kinds of threads. Without them the server lists those alone that a
// person sat before.
var sourceKinds = []string{"cli", "vscode", "exec", "appServer", "subAgent", "subAgentReview", "subAgentCompact",
	"subAgentThreadSpawn", "subAgentOther", "unknown"}

// listThreads returns one page of the threads, the newest first, and the cursor of the
// next one. Providers are named as none, which means all.
func (s *server) listThreads(ctx context.Context, archived bool, cursor string) (page []wireThread, next string, err error) {
	var answer struct {
		Data       []wireThread `json:"data"`
		NextCursor string       `json:"nextCursor"`
	}
	err = s.call(ctx, "thread/list", struct {
		Archived       bool     `json:"archived"`
		Limit          int      `json:"limit"`
		Cursor         string   `json:"cursor,omitempty"`
		SourceKinds    []string `json:"sourceKinds"`
		ModelProviders []string `json:"modelProviders"`
	}{archived, pageSize, cursor, sourceKinds, []string{}}, &answer)
	return answer.Data, answer.NextCursor, err
}

// pageSize is the most threads that the server gives at once.
const pageSize = 100
