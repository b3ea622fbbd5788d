# Read by setup.sh and run_autograder.
LESSON=01
COURSE=/autograder/course
export PATH="$HOME/.cargo/bin:$PATH"
