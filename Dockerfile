# A machine for the course: the environment, the book's tools, and the grader with what its jail needs.
#
#   docker build -t vit-course .
#   docker run --rm -it --security-opt seccomp=unconfined --security-opt apparmor=unconfined \
#     -v "$PWD/SUBMISSIONS:/submissions:ro" -v "$PWD/OUT:/out" vit-course \
#     .venv/bin/autograder grade /submissions --out /out
#
# Docker's default filter forbids the user namespaces that bubblewrap makes, hence the two options. Without them the
# grader falls back to its Landlock jail, where the kernel has Landlock; `autograder doctor` says which one it found.
FROM python:3.11-slim-bookworm

RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap chromium git libseccomp2 make \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /course
COPY requirements.txt requirements.lock pyproject.toml Makefile README.md ./
COPY autograder/__init__.py autograder/
COPY exercises/checks.py exercises/
COPY solutions/__init__.py solutions/
RUN make env
COPY . .

RUN useradd --create-home grader && chown -R grader /course
USER grader
CMD [".venv/bin/autograder", "doctor"]
