"""Rows with ties for `TorchMetric`, their counts by loops, and what one of several processes does with them."""

import warnings

import numpy as np
import torch

import kgeval as kg

METRICS = ("mr", "mrr", "hits@1", "hits@3", "gmr", "amri", "z(mrr)")


def made(metrics=METRICS, **options):
    return kg.integrations.TorchMetric(metrics, **options)


def random_rows(rng, n=12, width=9, levels=4):
    """Scores with many ties, the column of the positive, and known answers, the positive among them at times."""
    scores = torch.from_numpy(rng.integers(0, levels, (n, width)).astype(np.float32))
    return scores, torch.from_numpy(rng.integers(0, width, n)), torch.from_numpy(rng.random((n, width)) < 0.3)


def counted_by_loops(scores, positive, known=None):
    """(better, tied, rivals), one list each."""
    counts = []
    for i, column in enumerate(positive.tolist()):
        better = tied = rivals = 0
        for j, score in enumerate(scores[i].tolist()):
            if j != column and not (known is not None and known[i, j]):
                rivals += 1
                better += score > scores[i, column].item()
                tied += score == scores[i, column].item()
        counts.append((better, tied, rivals))
    return [list(part) for part in zip(*counts)]


def values_of(counts, metrics=METRICS, ties="realistic"):
    """The values of kgeval's metrics of counts."""
    arrays = [np.array(part) for part in counts]
    return {metric: kg.metrics.parse(metric).compute(*arrays, ties).value for metric in metrics}


def plain(values):
    return {name: value.item() for name, value in values.items()}


def run_process(rank, n_processes, folder, n_rows):
    """One of several processes: rank the rows that a padded DistributedSampler gives it, in batches of 3."""
    from torch import distributed
    from torch.utils.data import DataLoader, DistributedSampler

    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/rendezvous{n_rows}", rank=rank, world_size=n_processes
    )
    scores, positive, known = random_rows(np.random.default_rng(11), n=n_rows)
    sampler = DistributedSampler(range(n_rows), n_processes, rank, shuffle=False)
    metric, padded = made(), made()
    for rows in DataLoader(range(n_rows), sampler=sampler, batch_size=3):
        metric.update(scores[rows], positive[rows], known=known[rows], ids=rows)
        padded.update(scores[rows], positive[rows], known=known[rows], ids=rows + rank * n_rows)  # as if all differed
    with warnings.catch_warnings():
        warnings.simplefilter("error", kg.errors.KgevalWarning)
        found = plain(metric.compute()), metric.n_rows, metric.n_repeated, plain(padded.compute())
    uneven = made()  # process 0 has all rows, the others none
    if rank == 0:
        uneven.update(scores, positive, known=known, ids=torch.arange(n_rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torchmetrics warns that nothing was updated
        found = (*found, plain(uneven.compute()))
    try:
        metric.update(scores[:1], positive[:1])
        message = ""
    except kg.ProtocolError as error:
        message = str(error)
    torch.save((*found, message), f"{folder}/{n_rows}-{rank}.pt")
    distributed.destroy_process_group()
