//! A macro that makes two tests of one source.

/// Makes two tests of each function that is named: `apache::NAME` and `embedded::NAME`. The
/// function takes the [`ServerKind`](crate::server::ServerKind).
///
/// One that is not named is unused, and the compiler says so.
///
/// ```
/// use core::time::Duration;
/// use zk_test_kit::failure::TestResult;
/// use zk_test_kit::on_both_servers;
/// use zk_test_kit::server::{ServerKind, Settings};
///
/// on_both_servers! {
///     #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
///     it_listens;
/// }
///
/// async fn it_listens(server: ServerKind) -> TestResult {
///     // One server for all tests of a binary; a znode of its own for each.
///     let chroot = server.shared()?.fresh_chroot("example")?;
///     assert!(chroot.starts_with("/example"));
///
///     // A server of the test's own; `Settings` holds what both servers can be told.
///     let max_session_timeout = Duration::from_secs(3);
///     let server = server.start_with(&Settings { max_session_timeout, ..Settings::default() })?;
///     assert_eq!(server.watch_count()?, 0);
///     server.kill()?;
///     Ok(())
/// }
/// ```
#[macro_export]
macro_rules! on_both_servers {
    ($(# $attribute:tt $($test:ident),+;)+) => {
        mod apache {
            $($crate::on_both_servers!(@tests Apache $attribute $($test)+);)+
        }
        mod embedded {
            $($crate::on_both_servers!(@tests Embedded $attribute $($test)+);)+
        }
    };
    (@tests $kind:ident [test] $($test:ident)+) => {
        $(
            #[test]
            fn $test() -> $crate::failure::TestResult {
                super::$test($crate::server::ServerKind::$kind)
            }
        )+
    };
    (@tests $kind:ident $attribute:tt $($test:ident)+) => {
        $(
            # $attribute
            async fn $test() -> $crate::failure::TestResult {
                super::$test($crate::server::ServerKind::$kind).await
            }
        )+
    };
}
