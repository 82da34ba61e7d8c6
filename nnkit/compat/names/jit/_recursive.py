"""torch.jit._recursive: the types of scripted modules, of which there are none."""

from nnkit.compat.passing import Inert as ConcreteTypeStore

concrete_type_store = ConcreteTypeStore()
