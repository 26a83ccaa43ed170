package cli

import (
	"context"

	"agentsync/dirsync/dataset"
	"agentsync/publish"
)

// datasetsSummary counts the datasets of directory sync that were checked.
type datasetsSummary struct {
	Datasets int   `json:"datasets"`
	Heads    int   `json:"heads"`
	Objects  int   `json:"objects"`
	Size     int64 `json:"size"`
	problems int
}

// checkDatasets checks the datasets of a store and names every problem; nil when there
// are none.
func (v *invocation) checkDatasets(ctx context.Context, target *publish.Target, deep bool) (*datasetsSummary, error) {
	meter := v.meter("verify datasets", "objects", 0)
	report, err := dataset.Check(ctx, datasetsOf(target), deep, func(done, total int) {
		meter.grow(int64(total))
		meter.set(int64(done))
	})
	meter.hide()
	if err != nil || report.Datasets == 0 {
		return nil, err
	}
	for _, p := range report.Problems {
		v.out.problem(&failure{exit: exitDamaged, code: "damaged", message: withWhat(p.Name, p.Err.Error()), path: p.Name})
	}
	if len(report.Problems) > 0 && !v.out.asJSON {
		v.hint("keep the store as it is; bring the named files back from a copy")
	}
	return &datasetsSummary{report.Datasets, report.Heads, report.Objects, report.Bytes, len(report.Problems)}, nil
}

func (s *datasetsSummary) text() string {
	return counted(s.Datasets, "dataset", "datasets") + " with " + counted(s.Objects, "object", "objects") + " (" + bytesText(s.Size) + ")"
}

// pruneDatasets is the datasets' part of a prune, in the words of the other part.
func pruneDatasets(ctx context.Context, target *publish.Target, o publish.PruneOptions) ([]publish.Pruned, error) {
	report, err := dataset.Prune(ctx, datasetsOf(target), dataset.PruneOptions{Keep: o.Keep, Grace: o.Grace, Apply: o.Apply, Now: o.Now})
	removed := make([]publish.Pruned, len(report.Removed))
	for i, p := range report.Removed {
		removed[i] = publish.Pruned(p)
	}
	return removed, err
}
