//! One source, two tests.

/// Makes two tests of each function that is named: `apache::NAME` and `embedded::NAME`. The
/// function takes the [`ServerKind`](crate::server::ServerKind).
///
/// One that is not named is unused, and the compiler says so.
///
/// ```
/// use zk_test_kit::failure::TestResult;
/// use zk_test_kit::on_both_servers;
/// use zk_test_kit::server::ServerKind;
///
/// on_both_servers! {
///     #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
///     it_listens;
/// }
///
/// async fn it_listens(server: ServerKind) -> TestResult {
///     assert_ne!(server.shared()?.addr().port(), 0);
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
