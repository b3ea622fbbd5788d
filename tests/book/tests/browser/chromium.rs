//! One Chromium for many pages, driven through the DevTools protocol: JSON messages, each ended by a zero byte, over two pipes.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

/// A running browser with one open tab.
pub struct Chromium {
    process: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
    last_id: u64,
    session: Option<Value>,
    /// Events of the tab since the last navigation.
    pub events: Vec<Value>,
}

impl Chromium {
    /// Starts `command` and opens a tab that reports its requests, errors and loads.
    pub fn start(command: &Command) -> Chromium {
        // Chromium reads file descriptor 3 and writes 4; a shell connects them to the pipes of this test.
        let mut process = Command::new("sh")
            .args([
                "-c",
                "exec \"$0\" \"$@\" --remote-debugging-pipe 3<&0 4>&1 </dev/null >/dev/null",
            ])
            .arg(command.get_program())
            .args(command.get_args())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let requests = process.stdin.take().unwrap();
        let replies = BufReader::new(process.stdout.take().unwrap());
        let (last_id, session, events) = (0, None, Vec::new());
        let mut chromium = Chromium {
            process,
            requests,
            replies,
            last_id,
            session,
            events,
        };
        let tab = chromium.call("Target.createTarget", json!({ "url": "about:blank" }));
        let attach = json!({ "targetId": tab["targetId"], "flatten": true });
        chromium.session = Some(chromium.call("Target.attachToTarget", attach)["sessionId"].take());
        for domain in ["Page", "Network", "Runtime", "Log"] {
            chromium.call(&format!("{domain}.enable"), json!({}));
        }
        chromium
    }

    /// Sends a command and returns its result.
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({ "id": self.last_id, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = session.clone();
        }
        write!(self.requests, "{message}\0").unwrap();
        loop {
            let mut reply = self.receive();
            if reply["id"] == self.last_id {
                assert!(reply["error"].is_null(), "{method}: {}", reply["error"]);
                return reply["result"].take();
            }
            self.events.push(reply);
        }
    }

    fn receive(&mut self) -> Value {
        let mut message = Vec::new();
        self.replies.read_until(0, &mut message).unwrap();
        assert_eq!(message.pop(), Some(0), "Chromium exited");
        serde_json::from_slice(&message).unwrap()
    }

    /// Loads a page and waits until its scripts have run.
    pub fn load(&mut self, address: &str) {
        self.events.clear();
        let answer = self.call("Page.navigate", json!({ "url": address }));
        assert!(
            answer["errorText"].is_null(),
            "{address}: {}",
            answer["errorText"]
        );
        while !self
            .events
            .iter()
            .any(|event| event["method"] == "Page.loadEventFired")
        {
            let event = self.receive();
            self.events.push(event);
        }
    }

    /// Runs a script and returns the value of its promise.
    pub fn evaluate(&mut self, script: &str) -> Value {
        let params = json!({ "expression": script, "awaitPromise": true, "returnByValue": true });
        let mut answer = self.call("Runtime.evaluate", params);
        assert!(
            answer["exceptionDetails"].is_null(),
            "{}",
            answer["exceptionDetails"]
        );
        answer["result"]["value"].take()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
