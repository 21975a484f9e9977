"""Near misses in measures of likeness, their figures and their exercises."""

from mutations.mutation import Mutation

CLOUD = ("test_similarity.py::test_whitened_rows_have_the_identity_as_covariance",)
MATRIX = ("test_similarity.py::test_matrix_is_torchs",)
ONE = ("test_similarity.py::test_similarities_are_torchs",)
PAIRS = ("test_similarity.py::test_anisotropy_is_the_mean_over_pairs",)
RANKS = ("test_similarity.py::test_rank_correlation_by_hand",)
TEACH = "test_exercises.py::test_wrong_answer_is_told_what_is_wrong"

MUTATIONS = [
    Mutation("embeddings.py", "return -torch.linalg.vector_norm(table - query, dim=1)",
             "return torch.linalg.vector_norm(table - query, dim=1)", ONE),
    Mutation("embeddings.py", "normalize(table, dim=1) @ nn.functional.normalize(query, dim=0)",
             "normalize(table, dim=0) @ nn.functional.normalize(query, dim=0)", ONE),
    Mutation("embeddings.py", "    likeness[row] = float(\"-inf\")\n", "",
             ("test_similarity.py::test_neighbours_are_the_sorted_others",)),
    Mutation("embeddings.py", "return -torch.cdist(table,", "return torch.cdist(table,", MATRIX),
    Mutation("embeddings.py", "        return units @ units.T", "        return units @ table.T",
             MATRIX),
    Mutation("embeddings.py", ".fill_diagonal_(float(\"-inf\")).argmax(dim=1)", ".argmax(dim=1)",
             ("test_similarity.py::test_nearest_is_the_first_neighbour_and_never_itself",)),
    Mutation("embeddings.py", "return table - table.mean(dim=0)",
             "return table - table.mean(dim=1, keepdim=True)",
             ("test_similarity.py::test_centre_takes_the_mean_of_the_rows",)),
    Mutation("embeddings.py", "centred.T @ centred / len(table)",
             "centred.T @ centred / (len(table) - 1)", CLOUD),
    Mutation("embeddings.py", "centred.T @ centred / len(table)", "table.T @ table / len(table)",
             CLOUD),
    Mutation("embeddings.py", "variances.flip(0), directions.flip(1)", "variances, directions",
             ("test_similarity.py::test_principal_is_numpys",)),
    Mutation("embeddings.py", "@ directions / variances.sqrt() @", "@ directions / variances @",
             CLOUD),
    Mutation("embeddings.py", "/ variances.sqrt() @ directions.T", "/ variances.sqrt()",
             ("test_similarity.py::test_whitening_what_is_white_changes_nothing",
              "test_similarity.py::test_whitening_stretches_each_axis_by_itself_where_axes_are_"
              "principal")),
    Mutation("embeddings.py", "(squared - units.square().sum()) / (n * (n - 1))",
             "squared / (n * n)", PAIRS),
    Mutation("embeddings.py", "units, n = nn.functional.normalize(table, dim=1), len(table)",
             "units, n = table, len(table)", PAIRS),
    Mutation("embeddings.py", "return (last - (counts - 1) / 2)[place]", "return last[place]",
             RANKS),
    Mutation("embeddings.py", "ranks = torch.stack([_ranks(first), _ranks(second)])",
             "ranks = torch.stack([first.double(), second.double()])", RANKS),
    Mutation("figures/similarity.py", "np.where(agree_YX, 0.16, 0.62)",
             "np.where(agree_YX, 0.62, 0.16)",
             ("test_figures_similarity.py::test_plane_glows_where_measures_disagree",)),
    Mutation("figures/similarity.py", "np.sqrt(3) * circle", "3 * circle",
             ("test_figures_similarity.py::test_sphere_draws_the_circle_of_layer_norm",)),
    Mutation("exercises/chapter02.py", "if first - second < 1e-9 * np.abs(likeness).max():",
             "if False:", (f"{TEACH}[02.4-7]",)),
    Mutation("exercises/chapter02.py", "if before == after:", "if before != after:",
             ("test_exercises.py::test_right_answer_is_called_right[02.5]",)),
]  # fmt: skip
