"""Near misses in the trainer: schedule, optimisers, a step, a checkpoint, several processes."""

from mutations.mutation import Mutation

BY_HAND = ("test_training_schedule.py::test_by_hand",)
LOOP = ("test_training_fit.py::test_it_is_the_loop_by_hand",)
BROKEN = ("test_training_fit.py::test_a_broken_run_goes_on_as_if_it_had_not_been",)
MUON = ("test_training_optimisers.py::test_muon_is_the_published_update",)
VALUES = ("test_training_optimisers.py::test_it_acts_on_singular_values_alone",)
DISK = ("test_training_checkpoints.py::test_a_full_disk_leaves_the_earlier_checkpoint",)
DAMAGE = ("test_training_checkpoints.py::test_damage_is_named",)
THERE = ("test_training_checkpoints.py::test_what_goes_in_comes_out",)
NAN = ("test_training_fit.py::test_nan_keeps_the_last_good_checkpoint",)
ROWS = ("test_training_processes.py::test_rows_of_all_are_the_batch",)
REFUSED = ("test_training_fit.py::test_a_checkpoint_that_does_not_fit_is_refused",)

MUTATIONS = [
    Mutation("training/fit.py", "(matrices, lr=config.matrix_lr", "(matrices, lr=config.lr",
             ("test_training_optimisers.py::"
              "test_hidden_matrices_have_a_rate_of_their_own_with_adamw",)),
    Mutation("train.py", "tuple(v) if isinstance(v, list) else v", "v",
             ("test_training_commands.py::test_resume_takes_the_settings_of_the_run",)),
    # the schedule
    Mutation("training/schedule.py", "return (step + 1) / warmup", "return step / warmup", BY_HAND),
    Mutation("training/schedule.py", "if step < warmup:", "if step <= warmup:", BY_HAND),
    Mutation("training/schedule.py", "peak = max(warmup - 1, 0)", "peak = warmup", BY_HAND),
    Mutation("training/schedule.py", "return final + (1 - final) * left", "return left", BY_HAND),
    Mutation("training/schedule.py", "(1 + math.cos(math.pi * progress)) / 2",
             "math.cos(math.pi * progress / 2)", BY_HAND),
    # the optimisers
    Mutation("training/optimisers.py", '{"params": vectors, "weight_decay": 0.0}',
             '{"params": vectors, "weight_decay": weight_decay}',
             ("test_training_optimisers.py::test_only_matrices_decay",)),
    Mutation("training/optimisers.py", "return parameter.grad.lerp(state[\"momentum\"], momentum)",
             "return state[\"momentum\"]", MUON),
    Mutation("training/optimisers.py", "lerp_(parameter.grad, 1 - momentum)",
             "lerp_(parameter.grad, momentum)", MUON),
    Mutation("training/optimisers.py", "max(1, rows / columns) ** 0.5",
             "max(1, columns / rows) ** 0.5", MUON),
    Mutation("training/optimisers.py", "direction.mT if rows > columns else direction",
             "direction.reshape(p.shape)", MUON),
    Mutation("training/optimisers.py", "p.mul_(1 - group[\"lr\"] * group[\"weight_decay\"])",
             "p.mul_(1 - group[\"weight_decay\"])", MUON),
    Mutation("training/optimisers.py", "gram, gram, gram, beta=b, alpha=c",
             "gram, gram, gram, beta=c, alpha=b", VALUES),
    Mutation("training/optimisers.py", "(x.mT if tall else x)", "x", VALUES),
    Mutation("training/optimisers.py", "weights - tables", "weights",
             ("test_training_optimisers.py::test_hidden_matrices",)),
    Mutation("training/optimisers.py", "group[\"lr\"] = peak * share", "group[\"lr\"] *= share",
             ("test_training_optimisers.py::test_rates_are_shares_of_each_peak",)),
    # a step
    Mutation("training/fit.py", "share = self.loss(x, y) / parts", "share = self.loss(x, y)", LOOP),
    Mutation("training/fit.py", "                    share.backward()\n",
             "                    share.backward()\n"
             "                nn.utils.clip_grad_norm_(self.trained, self.config.clip)\n",
             LOOP),
    Mutation("training/fit.py", "        self.optimiser.zero_grad()\n", "", LOOP),
    Mutation("training/fit.py", "self.config.clip or math.inf", "math.inf", LOOP),
    Mutation("training/fit.py", "self.optimiser.scale(self.config.share(self.step))",
             "self.optimiser.scale(1.0)", LOOP),
    Mutation("training/fit.py", "(self.step + 1) % every == 0", "self.step % every == 0", LOOP),
    Mutation("training/fit.py", "if not math.isfinite(loss + length):", "if False:", NAN),
    Mutation("training/fit.py", "corpus.windows(self.validation_ids, self.config.context)",
             "corpus.windows(self.validation_ids[:60], self.config.context)", LOOP),
    # stopping and going on
    Mutation("training/fit.py", "self.generator.set_state(checkpoint.generators[\"batches\"])",
             "checkpoint.generators[\"batches\"]", BROKEN),
    Mutation("training/fit.py", "self.optimiser.load_state_dict(checkpoint.optimiser)", "pass",
             BROKEN),
    Mutation("training/fit.py", 'f"{seed} {step} {rank}"', 'f"{seed} {rank}"',
             ("test_training_fit.py::test_each_step_and_process_has_dropout_of_its_own",)),
    Mutation("training/fit.py", 'f"{seed} {step} {rank}"', 'f"{seed} {step}"',
             ("test_training_fit.py::test_each_step_and_process_has_dropout_of_its_own",)),
    Mutation("training/fit.py", "\"\".join(map(_line, self.records))", "\"\"", BROKEN),
    Mutation("training/fit.py", "                    self.lines.flush()\n", "",
             ("test_training_fit.py::test_records_are_written_as_they_come",)),
    Mutation("training/fit.py", "if saves or self.interrupted:", "if saves:",
             ("test_training_fit.py::test_ctrl_c_saves_and_stops",)),
    Mutation("training/fit.py", "checkpoints.check_config(checkpoint.config, self.config)",
             "pass", REFUSED),
    # a checkpoint
    Mutation("training/checkpoints.py", "            os.rename(partial, final)\n", "", THERE),
    Mutation("training/checkpoints.py", "partial = folder / f\"{PARTIAL}{final.name}\"",
             "partial = final",
             ("test_training_checkpoints.py::test_a_full_disk_leaves_the_earlier_checkpoint",)),
    Mutation("training/checkpoints.py", "        os.fsync(file.fileno())\n", "",
             ("test_training_checkpoints.py::test_files_are_on_the_disk_before_they_have_names",)),
    Mutation("training/checkpoints.py", "            shutil.rmtree(partial, ignore_errors=True)\n"
             "            raise", "            raise", DISK),
    Mutation("training/checkpoints.py", "[: -keep if keep else 0]", "[:-1]",
             ("test_training_checkpoints.py::test_the_last_few_are_kept",)),
    Mutation("training/checkpoints.py", "if hashlib.sha256(data).hexdigest() != ",
             "if len(data) < 10 and hashlib.sha256(data).hexdigest() != ", DAMAGE),
    Mutation("training/checkpoints.py", "        if own[name].shape != tensors[name].shape:",
             "        if own[name].ndim != tensors[name].ndim:",
             ("test_training_checkpoints.py::test_a_model_of_another_shape_takes_nothing",)),
    # several processes
    Mutation("training/processes.py", "self.rank * part : (self.rank + 1) * part",
             "self.rank * part : (self.rank + 2) * part", ROWS),
    Mutation("training/processes.py", "part = len(whole) // self.size", "part = len(whole)", ROWS),
    Mutation("training/processes.py", "numbers = numbers.clone()\n", "\n",
             ("test_training_processes.py::test_sums_go_through_the_group_and_leave_what_came",)),
]  # fmt: skip
