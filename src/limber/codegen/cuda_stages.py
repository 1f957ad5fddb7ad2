"""Jacobians on the GPU in stages (`codegen.stages`): kernels that run one after another over all states."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from limber.codegen.cuda import CudaFunction, Kernel, block_of, needed_cupy
from limber.codegen.cuda_source import dialect, kernel, shared_values
from limber.codegen.program import Argument, Program
from limber.codegen.stages import Stages

#: Columns that a thread multiplies at a time, at most ...
COLUMNS = 5
#: ... and their elements, which are in registers.
ELEMENTS = 90


class CudaStages(CudaFunction):
    """A `CudaFunction` of several kernels; `source` has the text of all of them."""

    def __init__(self, program: Program, stages: Stages, single: bool):
        local = dialect(single)
        programs = [stage.program for stage in stages.stages]
        texts = [shared_values(local), *(kernel(p, local) for p in programs)]
        if stages.inverse is not None:
            texts.append(product(stages.inverse, stages.scaled, local.real))
        Kernel.__init__(self, program, single, "\n".join(texts), programs[-1].name, programs)
        self._stages = stages

    @cached_property
    def _product_block(self) -> int:
        """The threads of a block that keep their inverse in shared memory; 0 if it has too little room."""
        inverse = self._stages.inverse
        return 0 if inverse is None else block_of(inverse.size * self.dtype.itemsize)

    @property
    def _options(self) -> tuple[str, ...]:
        near = self._product_block
        return (*super()._options, *([f"-DPRODUCT_BLOCK={near}"] if near else []))

    @cached_property
    def _kernels(self) -> list[Any]:
        return [self._loaded(stage.program.name) for stage in self._stages.stages]

    def _run(self, states: int, arrays: dict[str, Any], shared: set[str]) -> None:
        stages = self._stages
        for a in stages.kept:
            arrays[a.name] = needed_cupy().empty((*a.shape, states), self.dtype)
        for stage, run in zip(stages.stages, self._kernels):
            outputs = (o.name for o in stage.program.outputs)
            own = {name: arrays[array] for name, array in zip(outputs, stage.outputs)}
            self._launch(states, self._arguments(stage.program, states, arrays | own, shared), run)
        if stages.inverse is not None and states:
            given = [arrays[a.name] for a in (stages.inverse, *stages.scaled)]
            block = self._product_block or self._block
            self._multiply(
                ((states + block - 1) // block,), (block,), (*given, np.int64(states)),
                shared_mem=self._product_memory,
            )  # fmt: skip

    @property
    def _product_memory(self) -> int:
        inverse = self._stages.inverse
        return 0 if inverse is None else self._product_block * inverse.size * self.dtype.itemsize

    @cached_property
    def _multiply(self) -> Any:
        run = self._module.get_function("multiply")
        if self._product_memory:
            run.max_dynamic_shared_size_bytes = self._product_memory
        return run


def product(inverse: Argument, scaled: tuple[Argument, ...], real: str) -> str:
    """The kernel `multiply`: X = -inverse X for each array X, in place, one state a thread.

    A thread keeps some columns of X in registers, and its inverse in shared memory if PRODUCT_BLOCK is defined, the
    number of threads that have room there.
    """
    n = inverse.shape[0]
    width = max(1, min(COLUMNS, ELEMENTS // n))
    arrays = [f"const {real} *__restrict__ inverse"]
    arrays += [f"{real} *__restrict__ {a.name}" for a in scaled]
    text = f"""\
#ifdef PRODUCT_BLOCK
#define STEP PRODUCT_BLOCK
#else
#define STEP states
#endif
extern "C" __global__ void __launch_bounds__(BLOCK, 1) multiply({", ".join(arrays)}, const long long states)
{{
    const long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= states) return;
#ifdef PRODUCT_BLOCK
    {real} *const rows = shared_values + threadIdx.x;
    #pragma unroll 16
    for (int i = 0; i < {n * n}; ++i) rows[i * STEP] = inverse[i * states + t];
#else
    const {real} *const rows = inverse + t;
#endif
"""
    for a in scaled:
        columns = a.size // n
        text += f"""\
    #pragma unroll 1
    for (int j = 0; j < {columns}; j += {width}) {{
        {real} x[{n}][{width}], *const column = {a.name} + j * states + t;
        #pragma unroll
        for (int k = 0; k < {n}; ++k) {{
            #pragma unroll
            for (int c = 0; c < {width}; ++c) x[k][c] = j + c < {columns} ? column[(k * {columns} + c) * states] : 0;
        }}
        #pragma unroll 1
        for (int i = 0; i < {n}; ++i) {{
            const {real} *const row = rows + i * {n} * STEP;
            {real} sum[{width}] = {{}};
            #pragma unroll
            for (int k = 0; k < {n}; ++k) {{
                #pragma unroll
                for (int c = 0; c < {width}; ++c) sum[c] -= row[k * STEP] * x[k][c];
            }}
            #pragma unroll
            for (int c = 0; c < {width}; ++c) {{
                if (j + c < {columns}) column[(i * {columns} + c) * states] = sum[c];
            }}
        }}
    }}
"""
    return text + "}\n"
