"""The tree of an instance's frames, in the order of their numbers."""

from collections.abc import Iterator

from engine.kernel.program import Definition, Step
from engine.kernel.snapshot import Frame


class Tree:
    """The frames of one instance by number, and the children of each."""

    definition: Definition
    next: int
    frames: dict[int, Frame]
    children: dict[int, list[int]]

    def adopt(self, frame: Frame) -> None:
        """Take a frame into the tables."""
        self.frames[frame.n] = frame
        self.children[frame.n] = []
        self.children.setdefault(frame.p, []).append(frame.n)

    def new(self, parent: int) -> Frame:
        """Make a frame with a number that was never used."""
        frame = Frame(self.next, parent)
        self.next += 1
        self.adopt(frame)
        return frame

    def drop(self, frame: Frame) -> None:
        """Take a frame out of the tables."""
        del self.frames[frame.n]
        del self.children[frame.n]
        self.children[frame.p].remove(frame.n)

    def move(self, frame: Frame, parent: Frame) -> None:
        """Put a frame, with all that is below it, under another parent."""
        self.children[frame.p].remove(frame.n)
        frame.p = parent.n
        self.children[parent.n].append(frame.n)

    @property
    def root(self) -> Frame:
        """Return the frame that is the whole instance."""
        return self.frames[self.children[0][0]]

    def kids(self, frame: Frame) -> list[Frame]:
        """List the frames right below, oldest first."""
        return [self.frames[number] for number in sorted(self.children[frame.n])]

    def below(self, frame: Frame) -> list[Frame]:
        """List everything below a frame, newest first."""
        found: list[int] = []
        pending = list(self.children[frame.n])
        while pending:
            number = pending.pop()
            found.append(number)
            pending += self.children[number]
        return [self.frames[number] for number in sorted(found, reverse=True)]

    def upward(self, frame: Frame) -> Iterator[Frame]:
        """Walk from a frame to the root, the frame included."""
        number = frame.n
        while number:
            found = self.frames[number]
            yield found
            number = found.p

    def step_of(self, frame: Frame) -> Step:
        """Return the step that a frame runs."""
        return self.definition.steps[frame.step or ""]

    def owner(self, frame: Frame) -> Frame:
        """Return the nearest step frame at or above."""
        return next(found for found in self.upward(frame) if found.step is not None)

    def running(self, step: str) -> list[Frame]:
        """List the live frames of a step, oldest first."""
        return [self.frames[number] for number in sorted(self.frames) if self.frames[number].step == step]

    def leaves(self) -> list[Frame]:
        """List the waits, oldest first."""
        return [self.frames[number] for number in sorted(self.frames) if self.frames[number].wait is not None]

    def iteration(self, frame: Frame) -> str:
        """Write which rounds and items a frame is in."""
        if not self.definition.has_rounds:
            return ""
        return "".join(reversed([found.pos for found in self.upward(frame) if found.pos is not None]))
