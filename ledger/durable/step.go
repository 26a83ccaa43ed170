package durable

import "sync/atomic"

var testOnlyStep atomic.Pointer[func(step string)]

// SetStepHook makes hook run before each step that OS takes towards the disk: create,
// write, sync, link, rename, syncdir, syncall,
// remove, mkdir. It is for tests only: a test
// binary that runs itself again can kill itself before its k-th step. restore puts
// the earlier hook back.
func SetStepHook(hook func(step string)) (restore func()) {
	earlier := testOnlyStep.Swap(&hook)
	return func() { testOnlyStep.Store(earlier) }
}

func step(name string) {
	if hook := testOnlyStep.Load(); hook != nil {
		(*hook)(name)
	}
}
