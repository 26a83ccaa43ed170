package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"agentsync/dirsync"
	"agentsync/hashgraph/digest"
	"agentsync/ledger/durable"
)

// Job is the part of a plan that changes the project.
type Job struct {
	Plan     string // its id
	Root     string
	Identity dirsync.Identity
	Actions  []dirsync.Action // of any side; only those of the project are run
	Done     map[string]bool  // paths whose outcome is recorded already
	Keep     string           // private folder for replaced contents, by digest
	Disk     durable.FS       // that Keep lies on
	// Content opens a content. It fails at its end when it is not what was asked for.
	Content func(ctx context.Context, sum digest.Digest, size int64) io.Reader
	// Judge says what an error of Content makes of an action: Damaged, Drifted or Failed.
	// Without it each one is Failed.
	Judge func(error) State
	// Record makes outcomes durable. No further action begins before it returns.
	Record func([]Result) error
	// Progress is told after each group of actions how many have an outcome.
	Progress func(done int)
	Workers  int // contents fetched at once; 0 is one
}

// State is what became of an action.
type State string

// States of an action. A drifted target was neither as the plan saw it nor as it was to
// become; a refused one the system did not let be written; of a damaged one the stored
// content is not what its name says. All three were left as they are, and the next plan
// has them again. A failed one is tried again by the same plan.
const (
	Done    State = "done"
	Drifted State = "drifted"
	Refused State = "refused"
	Damaged State = "damaged"
	Failed  State = "failed"
)

// Result is an action's outcome.
type Result struct {
	Path  string `json:"path"`
	State State  `json:"state"`
	// Reason says why an action was left or failed; it quotes no content.
	Reason string `json:"reason,omitempty"`
}

// groupSize is how many actions share the syncs that make them durable.
const groupSize = 1024

// Run carries the job out and returns the outcome of every action that had none yet. A
// failed action is an outcome; an error says that the job as a whole could not go on.
func Run(ctx context.Context, j Job) (results []Result, err error) {
	todo := j.todo()
	p, err := openProject(j.Root, j.Identity)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if len(todo) == 0 {
		return nil, nil
	}
	err = p.openStage(stageName(j.Plan))
	switch {
	case isRefusal(err):
		return j.refuseAll(todo, "its contents cannot be staged: "+ReasonOf(err))
	case err != nil:
		return nil, fmt.Errorf("open the staging folder of %s: %w", j.Root, err)
	}
	r := &run{Job: j, project: p, broken: map[string]bool{}}
	r.chooseSync(len(todo))
	for from := 0; from < len(todo); from += groupSize {
		group := todo[from:min(from+groupSize, len(todo))]
		more, err := r.group(ctx, group)
		results = append(results, more...)
		if err != nil {
			return results, err
		}
	}
	return results, nil
}

// refuseAll ends every item as refused.
func (j *Job) refuseAll(todo []item, reason string) ([]Result, error) {
	results := make([]Result, len(todo))
	for i := range todo {
		results[i] = Result{todo[i].Path, Refused, reason}
	}
	return results, j.Record(results)
}

// Clean removes what a plan has staged. The plan is at its end, whichever it was.
func Clean(root string, id dirsync.Identity, plan string) error {
	p, err := openProject(root, id)
	if err != nil {
		return err
	}
	return errors.Join(p.dropStage(stageName(plan)), p.close())
}

func stageName(plan string) string { return strings.TrimPrefix(plan, "sha256:") }

// todo lists the actions without an outcome. Each keeps its number in the plan, so that a
// later run finds what an earlier one staged.
func (j *Job) todo() []item {
	var list []item
	for i := range j.Actions {
		if a := &j.Actions[i]; a.Side == dirsync.Project && !j.Done[a.Path] {
			list = append(list, item{Action: a, staged: fmt.Sprintf("%06d", i)})
		}
	}
	return list
}

// bulkLeast is from how many actions on a sync of the whole file system costs less than
// syncs of single files.
const bulkLeast = 32

// run is a running job.
type run struct {
	Job
	project *project
	bulk    bool            // syncs are of whole file systems
	here    durable.Flusher // of the project, when bulk
	kept    durable.Flusher // of the kept contents, when bulk
	touched map[string]bool // directories whose names changed, until they are synced
	broken  map[string]bool // directories that could not be made
}

// chooseSync decides how changes become durable.
func (r *run) chooseSync(actions int) {
	var can, both bool
	r.here, can = durable.OS().(durable.Flusher)
	r.kept, both = r.Disk.(durable.Flusher)
	r.bulk = can && both && actions >= bulkLeast
}

// group stages what the actions need, keeps what they replace, acts, and records. Each
// of the three is durable before the next begins.
func (r *run) group(ctx context.Context, items []item) ([]Result, error) {
	r.touched = map[string]bool{}
	if err := r.stageAll(ctx, items); err != nil {
		return nil, err
	}
	if err := r.keepAll(ctx, items); err != nil {
		return nil, err
	}
	for i := range items {
		if err := ctx.Err(); err != nil {
			items = items[:i]
			break
		}
		r.act(&items[i])
	}
	if err := r.sync(); err != nil {
		return nil, fmt.Errorf("make changes of %s durable: %w", r.Root, err)
	}
	var results, outcomes []Result
	for i := range items {
		results = append(results, items[i].result)
		if items[i].result.State != Failed {
			outcomes = append(outcomes, items[i].result)
		}
	}
	step("record")
	if err := r.Record(outcomes); err != nil {
		return results, err
	}
	if r.Progress != nil {
		r.Progress(len(results))
	}
	return results, ctx.Err()
}

// sync makes the changes of names durable.
func (r *run) sync() error {
	step("sync")
	if r.bulk {
		return errors.Join(r.here.SyncAll(r.Root), r.project.forget())
	}
	var errs []error
	for path := range r.touched {
		dir, err := r.project.dir(path)
		if err == nil {
			err = ignoreUnsupported(dir.file.Sync())
		}
		errs = append(errs, err)
	}
	return errors.Join(append(errs, r.project.forget())...)
}

var testOnlyStep func(name string)

// SetStepHook makes hook run before every effect on a project, and before outcomes are
// recorded. It is for tests only, with one job at a time; restore puts the earlier hook
// back.
func SetStepHook(hook func(name string)) (restore func()) {
	earlier := testOnlyStep
	testOnlyStep = hook
	return func() { testOnlyStep = earlier }
}

func step(name string) {
	if testOnlyStep != nil {
		testOnlyStep(name)
	}
}
