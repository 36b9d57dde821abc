"""Runs steps of a gas of N particles with OpenMM's OpenCL platform: openmm_gas.py N."""

import sys

import numpy as np
import openmm
from openmm import unit

n, side = int(sys.argv[1]), 4.0
system = openmm.System()
system.setDefaultPeriodicBoxVectors((side, 0, 0), (0, side, 0), (0, 0, side))
force = openmm.NonbondedForce()
force.setNonbondedMethod(openmm.NonbondedForce.CutoffPeriodic)
for _ in range(n):
    system.addParticle(39.9)
    force.addParticle(0, 0.34, 0.996)
system.addForce(force)
steps = np.arange(int(np.ceil(n ** (1 / 3))))
grid = np.stack(np.meshgrid(steps, steps, steps), -1).reshape(-1, 3)[:n] * (side / len(steps))
context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("OpenCL"))
context.setPositions(grid)
context.getIntegrator().step(10)
energy = context.getState(getEnergy=True).getPotentialEnergy()
print(f"{energy.value_in_unit(unit.kilojoule_per_mole):.0f}")
